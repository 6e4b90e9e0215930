"""Audit log of an API server: policy, events of a request, log file. Read auditor.py first.

upstream 1.36: apiserver/pkg/audit, apiserver/pkg/endpoints/filters/audit.go, apiserver/plugin/pkg/audit/log
"""

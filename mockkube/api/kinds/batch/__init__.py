"""Kinds of the group batch: jobs and cron jobs."""

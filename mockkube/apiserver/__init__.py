"""kube-apiserver: registry (verbs on objects), admission, authorization, HTTP."""

"""OpenAPI parameters of operations, and which of them all methods of a path share."""

from collections.abc import Iterable, Sequence
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.apiserver.http.openapi.operations import OpenApiOperation

_QUERY_PARAMETERS: Final = {
    "allowWatchBookmarks": ("boolean", "Whether a watch may send events of type BOOKMARK. Ignored unless watching."),
    "command": ("string", "The command to execute, one argument each time it is given. It is not run in a shell."),
    "container": ("string", "The container to use; may be left out when the pod has only one."),
    "continue": ("string", "Continue token of the previous page of a list."),
    "dryRun": ("string", "Process the request without persisting it. The one valid value is All."),
    "fieldManager": ("string", "Name of the field manager. Required for apply requests."),
    "fieldSelector": ("string", "Restricts the list to objects with these fields. Defaults to everything."),
    "fieldValidation": (
        "string",
        "What to do about unknown or duplicate fields: Ignore, Warn (the default) or Strict.",
    ),
    "follow": ("boolean", "Follow the log as it is written. Defaults to false."),
    "force": ("boolean", "Take over fields owned by other managers. Only for apply requests."),
    "gracePeriodSeconds": ("integer", "Seconds before the object is deleted; zero means immediately."),
    "ignoreStoreReadErrorWithClusterBreakingPotential": (
        "boolean",
        "Delete an object that cannot be read from storage, without its finalizers and preconditions.",
    ),
    "insecureSkipTLSVerifyBackend": ("boolean", "Do not verify the certificate of the backend that has the log."),
    "labelSelector": ("string", "Restricts the list to objects with these labels. Defaults to everything."),
    "limit": ("integer", "Maximum number of objects in a page of the list."),
    "limitBytes": ("integer", "The most bytes of the log to read."),
    "orphanDependents": ("boolean", "Deprecated: use propagationPolicy."),
    "path": ("string", "The path of the proxied request."),
    "ports": ("integer", "The ports to forward."),
    "pretty": ("string", "Whether the answer is indented. Defaults to true for browsers, curl and wget."),
    "previous": ("boolean", "The log of the previous container. Defaults to false."),
    "propagationPolicy": ("string", "How dependents are handled: Orphan, Background or Foreground."),
    "resourceVersion": ("string", "The version the answer must have or be newer than. Defaults to unset."),
    "resourceVersionMatch": ("string", "How resourceVersion applies to a list: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "Whether a watch begins with the objects that exist."),
    "shardSelector": ("string", "Restricts the list to a share of the objects, by ranges of a hash of their uid."),
    "sinceSeconds": ("integer", "Only what was logged in the last so many seconds."),
    "stderr": ("boolean", "Whether the standard error stream is connected."),
    "stdin": ("boolean", "Whether the standard input stream is connected."),
    "stdout": ("boolean", "Whether the standard output stream is connected."),
    "stream": ("string", "Which stream of the log to return: All, Stdout or Stderr."),
    "tailLines": ("integer", "How many lines from the end of the log to show."),
    "timeoutSeconds": ("integer", "How long the call may take, whether or not there is activity."),
    "timestamps": ("boolean", "Whether each line of the log begins with its time."),
    "tty": ("boolean", "Whether a terminal is allocated."),
    "watch": ("boolean", "Answer with a stream of changes instead of a list."),
}
_PATH_DESCRIPTIONS: Final = {
    "namespace": "object name and auth scope, such as for teams and projects",
    "path": "path to the resource",
}


def query_parameters(names: Iterable[str]) -> list[Object]:
    """Return the query parameters of these names."""
    return [
        {"name": name, "in": "query", "type": _QUERY_PARAMETERS[name][0], "description": _QUERY_PARAMETERS[name][1]}
        for name in names
    ]


def path_parameters(operation: OpenApiOperation) -> list[Object]:
    """Return the parameters of the operation's path."""
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    kind = operation.subject.kind if operation.subject else ""
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "type": "string",
            "description": _PATH_DESCRIPTIONS.get(name, f"name of the {kind}"),
        }
        for name in sorted(names)
    ]


def shared_query_parameters(operations: Sequence[OpenApiOperation]) -> frozenset[str]:
    """Return the names of query parameters that all methods of a path have; they are listed once for the path."""
    return frozenset.intersection(*(frozenset(operation.query) for operation in operations))


def path_item_parameters(operations: Sequence[OpenApiOperation]) -> list[Object]:
    """Return the parameters listed for a whole path, by name."""
    found = path_parameters(operations[0]) + query_parameters(shared_query_parameters(operations))
    return sorted(found, key=lambda parameter: (parameter["name"], parameter["in"]))

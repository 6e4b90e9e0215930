"""The question that components of the same process put to the server: may somebody do something."""

from typing import Final

from mockkube.api.errors import Invalid
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.authorization import access_reviews
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.refusals import refusal
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import Attributes

REVIEW: Final = "SubjectAccessReview"
_GROUP: Final = "authorization.k8s.io"


def answer(authorizer: Authorizer, user: User, given: ReadOnlyObject) -> Object:
    """Return a SubjectAccessReview with its status; Forbidden if the user may not ask, Invalid if nothing is asked."""
    asking = Attributes(user, "create", _GROUP, "subjectaccessreviews")
    decision = authorizer.decide(asking)
    if not decision.allowed:
        raise refusal(asking, decision.reason)
    question: Object = {"apiVersion": f"{_GROUP}/v1", "metadata": {}, **given, "kind": REVIEW}
    if errors := access_reviews.complaints(question):
        raise Invalid(_GROUP, "", "", errors)
    spec = question["spec"]
    about = access_reviews.attributes(access_reviews.subject(spec), spec)
    return {**question, "status": access_reviews.status(authorizer.decide(about), spec)}

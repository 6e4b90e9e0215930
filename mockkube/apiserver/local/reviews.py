"""SubjectAccessReview for components of the process."""

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
    """Return a SubjectAccessReview with its status; raise Forbidden or Invalid as the API does."""
    create_attributes = Attributes(user, "create", _GROUP, "subjectaccessreviews")
    decision = authorizer.decide(create_attributes)
    if not decision.allowed:
        raise refusal(create_attributes, decision.reason)
    review: Object = {"apiVersion": f"{_GROUP}/v1", "metadata": {}, **given, "kind": REVIEW}
    if errors := access_reviews.complaints(review):
        raise Invalid(_GROUP, "", "", errors)
    spec = review["spec"]
    reviewed_attributes = access_reviews.attributes(access_reviews.subject(spec), spec)
    return {**review, "status": access_reviews.status(authorizer.decide(reviewed_attributes), spec)}

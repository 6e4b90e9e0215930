"""SubjectAccessReview for components of the process."""

from typing import Final

from mockkube.api.errors import Invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.authorization import access_reviews
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

REVIEW: Final = "SubjectAccessReview"
_GROUP: Final = "authorization.k8s.io"


def review_access(authorizer: Authorizer, user: User, given: ReadOnlyObject) -> Object:
    """Return a SubjectAccessReview with its status; raise Forbidden or Invalid as the API does."""
    create_attributes = AuthorizationAttributes(user, "create", _GROUP, "subjectaccessreviews")
    decision = authorizer.authorize(create_attributes)
    if not decision.allowed:
        raise new_forbidden_request(create_attributes, decision.reason)
    review: Object = {"apiVersion": f"{_GROUP}/v1", "metadata": {}, **given, "kind": REVIEW}
    if errors := access_reviews.validate_review(review):
        raise Invalid(_GROUP, "", "", errors)
    spec = review["spec"]
    reviewed_attributes = access_reviews.to_attributes(access_reviews.review_user(spec), spec)
    return {**review, "status": access_reviews.make_status(authorizer.authorize(reviewed_attributes), spec)}

"""Dependencies of strategies that packages above this one provide."""

from mockkube.api.kinds.admissionregistration import admission_rules
from mockkube.api.kinds.admissionregistration.admission_rules import PolicyExpressionCheck
from mockkube.api.kinds.apiextensions import schema_check
from mockkube.api.kinds.apiextensions.schema_check import SchemaCheck
from mockkube.api.kinds.resource import device_expressions
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck
from mockkube.api.object_rules import NO_RULES, ObjectRules
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StrategyDependencies:
    """Checks of CEL expressions and CRD schemas, and the rules that proposals add."""

    device_expression: ExpressionCheck = device_expressions.accept_expression
    policy_expression: PolicyExpressionCheck = admission_rules.accept_expression
    custom_schema: SchemaCheck = schema_check.accept_schema
    extensions: ValidationExtensions = NO_EXTENSIONS
    objects: ObjectRules = NO_RULES

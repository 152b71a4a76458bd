"""What the server says of itself in OpenAPI is true for requests that a fuzzer makes from it."""

import json

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.xdist_group("server")

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
EXAMPLES = 15  # of each operation and mode


@pytest.mark.filterwarnings("ignore")  # of the fuzzer itself
def test_no_request_breaks_the_promises(birds):
    document = json.loads(birds.send("GET", "/openapi.json")[2])
    operations = [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]
    assert len(operations) == 6
    answered = set()
    for operation in operations:
        for mode in GenerationMode if operation.path == "/predict" else [GenerationMode.POSITIVE]:

            @hypothesis.settings(
                max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
            )
            @hypothesis.seed(1)
            @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                response = case.call_and_validate(base_url=birds.url, checks=CHECKS, timeout=30)
                answered.add((case.method, response.status_code))

            check()
    assert answered >= {("GET", 200), ("POST", 200), ("POST", 400), ("POST", 422)}
    assert birds.get("/health")[1]["status"] == "ok"

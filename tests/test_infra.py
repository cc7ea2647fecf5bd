"""The deployments: every entrypoint exists, and its parameters are those of the flow."""

from pathlib import Path

import pytest
import yaml
from prefect.utilities.callables import parameter_schema

from flows import scheduled

DEPLOYMENTS = yaml.safe_load((Path(__file__).parent.parent / "infra" / "prefect.yaml").read_text())["deployments"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["name"])
def test_a_deployment_names_a_flow_and_its_parameters(deployment: dict[str, object]) -> None:
    path, _, name = str(deployment["entrypoint"]).partition(":")
    assert (Path(__file__).parent.parent / path).samefile(scheduled.__file__)
    schema = parameter_schema(getattr(scheduled, name).fn)
    given = deployment["parameters"]
    assert isinstance(given, dict)
    assert set(schema.required) <= set(given) <= set(schema.properties)


def test_the_campaign_step_is_scheduled() -> None:
    schedules = {deployment["name"]: deployment.get("schedules") for deployment in DEPLOYMENTS}
    assert schedules["advance"] == [{"cron": "*/5 * * * *", "timezone": "UTC"}]
    assert schedules["verify"]
    assert schedules["pipeline"] is None

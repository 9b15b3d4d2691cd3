"""Clusters for tests. Those that start one are marked `cluster`: `npm run cluster` runs them, `npm test` does not."""

from collections.abc import Callable
from typing import Any

import pytest
from started_cluster import StartedCluster


@pytest.fixture(scope="session")
def start_cluster(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StartedCluster]:
    """`with start_cluster([{"name": "head", "cpus": 0}, {"name": "a"}]) as cluster:`"""

    def start(nodes: list[dict[str, Any]], **plan: Any) -> StartedCluster:
        return StartedCluster(tmp_path_factory.mktemp("cluster"), nodes, **plan)

    return start


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "start_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)

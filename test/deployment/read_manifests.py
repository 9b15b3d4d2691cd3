"""Validates manifests against the JSON schemas of Kubernetes, which refuse unknown fields.

Takes the version of Kubernetes and files. Prints one JSON array with an object for each document: its file, the
document, and its fault, which is null if there is none; the document is null if the file is not YAML. For a resource
that Kubernetes itself does not know, such as a RayCluster, its pod templates are validated against their schema.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import yaml


class UniqueKeys(yaml.SafeLoader):
    """Refuses a repeated key in one mapping, as the server does; YAML's own loader uses the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def pod_templates(value: Any) -> Iterator[dict[str, Any]]:
    """Every pod template in a document, as a separate resource."""
    if isinstance(value, dict):
        template = value.get("template")
        if isinstance(template, dict) and "containers" in template.get("spec", {}):
            yield {"apiVersion": "v1", "kind": "PodTemplate", "template": template}
        for member in value.values():
            yield from pod_templates(member)
    elif isinstance(value, list):
        for member in value:
            yield from pod_templates(member)


def fault_of(document: dict[str, Any], version: str) -> str | None:
    is_foreign = document.get("apiVersion", "").startswith("ray.io/")
    for resource in pod_templates(document) if is_foreign else [document]:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            return f"{'.'.join(str(part) for part in error.path)}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            return error.message
    return None


def checked(file: str, version: str) -> list[dict[str, Any]]:
    with open(file, encoding="utf8") as text:
        try:
            documents = [document for document in yaml.load_all(text, Loader=UniqueKeys) if document is not None]
        except yaml.YAMLError as error:
            return [{"file": file, "document": None, "fault": str(error)}]
    return [{"file": file, "document": document, "fault": fault_of(document, version)} for document in documents]


version, *files = sys.argv[1:]
json.dump([entry for file in files for entry in checked(file, version)], sys.stdout)

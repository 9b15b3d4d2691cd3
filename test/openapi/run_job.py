"""Runs a job by the client generated from /openapi.json; prints the result as JSON.

Arguments: the folder of the package `mucast_client`, the address of the service, the folder of two example blobs.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from mucast_client import Client, models
from mucast_client.api.blobs import read_blob, write_blob
from mucast_client.api.jobs import run_ml_job
from mucast_client.api.operations import follow_operation, get_operation
from mucast_client.types import File

SECONDS = 120


def upload(client, path):
    with path.open("rb") as payload:
        uploaded = write_blob.sync(path.name, client=client, body=File(payload=payload))
    assert isinstance(uploaded, models.UploadedBlob), uploaded
    return uploaded.url


def events_of(stream):
    """Each event as the model of its type."""
    for message in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in message.splitlines() if ": " in line)
        if "data" not in fields:
            continue
        name = "Event" + fields["event"].title().replace("_", "")
        yield getattr(models, name).from_dict(json.loads(fields["data"]))


def main():
    client = Client(base_url=sys.argv[2], timeout=SECONDS, raise_on_unexpected_status=True)
    data = Path(sys.argv[3])
    payload = models.PayloadOfRunMlJob.from_dict(
        {
            "feature_url": upload(client, data / "feature_engine_tiny.json"),
            "data_extractor_url": upload(client, data / "data_extractor_tiny.json"),
            "config": {"ML params": {"model": "ridge", "n_splits": 2, "cv_test_size": 3}},
        }
    )
    submitted = run_ml_job.sync(client=client, body=payload, idempotency_key="generated")
    assert isinstance(submitted, models.Operation), submitted
    events = list(events_of(follow_operation.sync(submitted.id, client=client)))
    ended = get_operation.sync(submitted.id, client=client)
    assert ended.status == models.OperationStatus.SUCCEEDED, ended
    output = read_blob.sync(ended.result.output_name, client=client)
    assert isinstance(output, models.OutputBlob), output

    # Additions of a later version are read as well.
    later = {"type": "t", "title": "t", "status": 400, "code": "of_later", "detail": "d", "advice": "a", "more": 1}
    assert models.ProblemDetails.from_dict(later).to_dict() == later

    said = {
        "events": [event.type_ for event in events],
        "output_name": ended.result.output_name,
        "mu": output.mu.to_dict(),
    }
    print(json.dumps(said))


main()

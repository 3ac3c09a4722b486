"""One authority, a certificate for every server and one for the administrator, for the life of one control plane.

Made by openssl: it is there wherever modules can be fetched over TLS (`ca-certificates` depends on it), while a
Python package would be one more dependency to lock for six commands.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

METRICS = "metrics.default.svc"
"""The name of the server behind the API server's aggregation layer."""
NAMES = f"DNS:localhost,DNS:kubernetes.default.svc,DNS:{METRICS},IP:127.0.0.1,IP:10.0.0.1"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """The files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "ca.crt"
        self.server = folder / "tls.crt"
        """With `server_key` under the names that controllers look for in the folder of their certificates."""
        self.server_key = folder / "tls.key"
        self.admin = folder / "admin.crt"
        self.admin_key = folder / "admin.key"
        self.accounts_key = folder / "accounts.key"
        """Signs the tokens of service accounts."""
        self.folder = folder

    @property
    def bundle(self) -> str:
        """The authority as webhook configurations carry it."""
        return _base64(self.authority)

    def kubeconfig(self, server: str) -> str:
        """A configuration for the administrator."""
        user = {
            "client-certificate-data": _base64(self.admin),
            "client-key-data": _base64(self.admin_key),
        }
        cluster = {"server": server, "certificate-authority-data": self.bundle}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [{"name": "test", "cluster": cluster}],
                "users": [{"name": "admin", "user": user}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            }
        )


def make(folder: Path) -> Certificates:
    """New certificates in a new folder."""
    folder.mkdir()
    made = Certificates(folder)
    key = folder / "ca.key"
    _openssl(
        *("req", "-x509", *_CURVE, "-days", "30", "-subj", "/CN=gangform-tests"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", key, "-out", made.authority),
    )
    _signed(made, key, "/CN=server", made.server, made.server_key)
    _signed(made, key, "/O=system:masters/CN=admin", made.admin, made.admin_key)
    _openssl("genrsa", "-out", made.accounts_key, "2048")
    return made


def _signed(made: Certificates, authority_key: Path, subject: str, to: Path, key: Path) -> None:
    request, extensions = to.with_suffix(".csr"), to.with_suffix(".ext")
    extensions.write_text(
        f"subjectAltName={NAMES}\n"
        "extendedKeyUsage=serverAuth,clientAuth\n"
        # Asked for by Python from 3.13 on.
        "subjectKeyIdentifier=hash\n"
        "authorityKeyIdentifier=keyid\n"
    )
    _openssl("req", *_CURVE, "-subj", subject, "-keyout", key, "-out", request)
    _openssl(
        *("x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", authority_key),
        *("-CAcreateserial", "-days", "30", "-extfile", extensions, "-out", to),
    )


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()

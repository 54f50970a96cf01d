"""Files by which the processes of a group prove to each other who they are: mutual TLS."""

from __future__ import annotations

import os

from jxkernel._jaxlib import has_mutual_tls, version_text
from jxkernel.errors import ClusterError
from jxkernel.records import record

__all__ = ["Credentials"]


@record()
class Credentials:
    """What a process shows, and what it asks others for, where the coordination service is secured.

    Attributes:
      certificate: the file of this process's certificate, in PEM format.
      key: the file of its private key.
      authority: the file of the certificate of who signed those of all processes.
    """

    certificate: str
    key: str
    authority: str

    @staticmethod
    def of_folder(folder: str) -> Credentials:
        """Return the files ``cert.pem``, ``key.pem`` and ``ca.pem`` of a folder."""
        return Credentials(*(os.path.join(folder, f"{name}.pem") for name in ("cert", "key", "ca")))

    def arguments(self) -> dict[str, str]:
        """Return what jaxlib's service and client take.

        Raises:
          FileNotFoundError: one of the files is not there; XLA would end the process.
          ClusterError: this jaxlib cannot.
        """
        if not has_mutual_tls:
            raise ClusterError(
                f"The coordination service of jaxlib {version_text} knows no TLS.",
                instead="Install jaxlib 0.12, or use a network of your own.",
            )
        for file in (self.certificate, self.key, self.authority):
            if not os.path.isfile(file):
                raise FileNotFoundError(f"there is no file {file}, which the service needs for TLS")
        return {
            "mtls_cert_file": self.certificate,
            "mtls_key_file": self.key,
            "mtls_ca_file": self.authority,
        }

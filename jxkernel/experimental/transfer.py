"""Arrays that one process fetches from another, without a program that both run.

A process offers arrays under a number, and another, which is connected to its server, pulls them
by that number.  jaxlib moves the data, over TCP where there is nothing faster.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel._jaxlib import make_transfer_server
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.core.avals import ShapedArray
from jxkernel.runtime import ArrayImpl, backend, default_device
from jxkernel.runtime.clients import sharding_on
from jxkernel.tree import physical

__all__ = ["TransferConnection", "TransferServer", "start_transfer_server"]


def start_transfer_server(
    client: Any = None,
    address: str = "[::]:0",
    transport_addresses: Sequence[str] = (),
    max_num_parallel_copies: int = 8,
    transfer_size: int = 256 * 1024 * 1024,
    supports_pinned_allocator: bool = False,
    use_raw_buffers: bool = False,
) -> "TransferServer":
    """Start what gives this process's arrays to others, and return it.

    Args:
      client: whose arrays: the client of a device, ``jax.local_devices()[0].client``; the default
        one where None.
      address: where it listens for connections, ``host:port``; port 0 is a free one.
      transport_addresses: where data go; where empty, arrays move within this machine alone.
      max_num_parallel_copies: how many copies from devices are under way at once.
      transfer_size: how many bytes move at once, and are held in memory of the host.
      supports_pinned_allocator: whether the client has memory that devices read themselves.
      use_raw_buffers: whether pieces move as they lie in memory.

    Raises:
      JaxRuntimeError: it cannot listen there.

    Nothing is sent before somebody asks.  Anybody who reaches the address may ask, so let it be one
    of a network that you trust.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental import transfer
    >>> here = "127.0.0.1:0"
    >>> server = transfer.start_transfer_server(address=here, transport_addresses=[here])
    >>> server.await_pull(1, {"x": jnp.arange(3)})
    >>> connection = server.connect(server.address())
    >>> connection.pull(1, {"x": jx.ShapeDtypeStruct((3,), "int32")})["x"].tolist()
    [0, 1, 2]
    """
    given = backend() if client is None else client
    server = make_transfer_server(
        given,
        address,
        list(transport_addresses),
        max_num_parallel_copies,
        transfer_size,
        supports_pinned_allocator,
        use_raw_buffers,
    )
    return TransferServer(server, given)


class TransferServer:
    """Gives this process's arrays to others; ``start_transfer_server`` makes one.

    Args:
      server: that of jaxlib.
      client: whose arrays it gives.
    """

    def __init__(self, server: Any, client: Any) -> None:
        self._server = server
        self._client = client

    def address(self) -> str:
        """Return where it listens, ``host:port``."""
        return self._server.address()

    def await_pull(self, uuid: int, arrays: Any, timeout: Any = None) -> None:
        """Offer arrays under a number, to be pulled once.

        Args:
          uuid: the number.
          arrays: a tree of arrays.
          timeout: a ``datetime`` that is given to jaxlib; None for ever.
        """
        self._server._await_pull_flat(uuid, physical.leaves(arrays), timeout)

    def connect(self, address: str) -> "TransferConnection":
        """Return a connection to another server, or to this one.

        Args:
          address: what the other's ``address()`` gives, with a host that this process reaches.
        """
        return TransferConnection(self._server.connect(address), self._client)


class TransferConnection:
    """A connection to another process's server; ``TransferServer.connect`` makes one.

    Args:
      connection: that of jaxlib.
      client: where arrays go.
    """

    def __init__(self, connection: Any, client: Any) -> None:
        self._connection = connection
        self._client = client

    def pull(self, uuid: int, xs: Any, timeout: Any = None) -> Any:
        """Return arrays that the other process offers under a number.

        Args:
          uuid: the number.
          xs: a tree of ``ShapeDtypeStruct`` like the arrays: their shapes, dtypes and, where given,
            shardings; without one an array goes to the default device.
          timeout: a ``datetime`` that is given to jaxlib, which on a CPU waits for ever all the
            same where nothing is offered.

        The arrays are there when they are read, as all results are; an error of the transfer is
        raised then.
        """
        leaves, structure = physical.flatten(xs)
        placed = list(map(_placed, leaves))
        found = self._connection._pull_flat(uuid, self._client, placed, timeout)
        return structure.unflatten(
            [_typed(array, one) for array, one in zip(found, placed, strict=True)]
        )


def _typed(array: Any, described: ShapeDtypeStruct) -> Any:
    """Return an array that jaxlib made, as one of ours: it knows its type."""
    aval = ShapedArray(described.shape, described.dtype)
    return ArrayImpl(aval, described.sharding, list(array._arrays), True, _skip_checks=True)


def _placed(leaf: Any) -> ShapeDtypeStruct:
    """Return a description of an array that says where it goes."""
    sharding = getattr(leaf, "sharding", None) or sharding_on(default_device())
    return ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

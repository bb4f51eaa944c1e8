"""Authentication of flash: its key, and the tags that deploy writes."""

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.base.quantities import counted
from flashpager.deploy.aes_cmac import KEY_BYTES, AesCmac

#: MACs that ``--mac`` takes.
MACS = ("aes-cmac",)
#: Bytes of a tag that nobody forges by trying: one of 2^64 attempts succeeds.
STRONG_TAG_BYTES = 8
#: The number in the MAC of a header, which no unit has.
_HEADER_NUMBER = 0xFFFF_FFFF
#: Number of possible versions.
_VERSIONS = 1 << 32


@dataclass(frozen=True)
class Authentication:
    """The key and the version with which tags are made."""

    key: bytes = field(repr=False)
    #: Version of the image; each tag's MAC covers it.
    image_version: int

    def tags(self, image_id: bytes, units: Iterable[bytes], size: int) -> Iterator[bytes]:
        """Return the tags of an image's units in turn, as flashpager_pager.h defines them."""
        mac = self._image_mac(image_id)
        for number, data in enumerate(units):
            yield mac.tag(self._head(number) + data, size)

    def header_tag(self, image_id: bytes, data: bytes, size: int) -> bytes:
        """Return the tag of the authenticated bytes of an image's header."""
        return self._image_mac(image_id).tag(self._head(_HEADER_NUMBER) + data, size)

    def _image_mac(self, image_id: bytes) -> AesCmac:
        """Return the MAC with the key of an image, which is derived from its id."""
        return AesCmac(AesCmac(self.key).tag(image_id + b"image key"))

    def _head(self, number: int) -> bytes:
        return self.image_version.to_bytes(4, "little") + number.to_bytes(4, "little")


def authentication(
    tag_bytes: int | None,
    mac: str | None,
    key: Path | None,
    image_version: int | None,
    *,
    has_header: bool = False,
) -> Authentication | None:
    """Return the authentication of a design with tags; None for a design without tags.

    A header without tags has a version, too.

    Raises:
        FlashpagerError: if an option is missing, the key is invalid, or the design needs none of
            the options given.

    """
    given = {"--mac": mac, "--key": key, "--image-version": image_version}
    if tag_bytes is None:
        if has_header:
            del given["--image-version"]
            check_version("--image-version", image_version or 0)
        for flag, value in given.items():
            if value is not None:
                message = f"{flag}: the design has no tags; give their bytes with --tag"
                if flag == "--image-version":
                    message = f"{flag}: there is no header, nor tags; give --header or --tag"
                raise FlashpagerError(message)
        return None
    if mac is None or key is None or image_version is None:
        missing = ", ".join(flag for flag, value in given.items() if value is None)
        message = (
            f"a tag of {tag_bytes} bytes: {missing} missing; tags want --mac {' | '.join(MACS)}, "
            "--key HEXFILE and --image-version N"
        )
        raise FlashpagerError(message)
    if mac not in MACS:
        message = f"--mac {mac}: it is {', '.join(MACS)}"
        raise FlashpagerError(message)
    check_version("--image-version", image_version)
    return Authentication(read_key(key), image_version)


def short_tag_warning(tag_bytes: int | None) -> str:
    """Return the warning about a tag that can be forged by trying; empty without one."""
    if tag_bytes is None or tag_bytes >= STRONG_TAG_BYTES:
        return ""
    return (
        f"warning: a tag of {counted(tag_bytes, 'byte')} lets one forged page "
        f"in {256**tag_bytes:,} pass, and the device does not limit the attempts; "
        f"take --tag {STRONG_TAG_BYTES} or more"
    )


def check_version(flag: str, version: int) -> None:
    """Refuse a number that is not a version of an image.

    Raises:
        FlashpagerError: if the number does not fit into 32 bits.

    """
    if not 0 <= version < _VERSIONS:
        message = f"{flag} {version}: take 0 to {_VERSIONS - 1}, which 32 bits hold"
        raise FlashpagerError(message)


def read_key(path: Path) -> bytes:
    """Read a key, as hexadecimal digits. Errors never quote its content.

    Raises:
        FlashpagerError: if the file cannot be read, or does not hold a key of 16 bytes.

    """
    try:
        text = path.read_text(encoding="ascii")
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except UnicodeDecodeError:
        text = ""
    digits = "".join(text.split())
    wanted = f"a key of AES-128 is {KEY_BYTES} bytes, {2 * KEY_BYTES} hexadecimal digits"
    if not digits or set(digits) - set(string.hexdigits):
        message = f"{path}: holds characters that are no hexadecimal digits; {wanted}"
        raise FlashpagerError(message)
    if len(digits) != 2 * KEY_BYTES:
        message = f"{path}: holds {len(digits)} hexadecimal digits; {wanted}"
        raise FlashpagerError(message)
    return bytes.fromhex(digits)

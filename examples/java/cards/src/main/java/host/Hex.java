package host;

import java.util.HexFormat;

/** Converts bytes to hexadecimal digits, in upper case, and back. */
final class Hex {
    private static final HexFormat FORMAT = HexFormat.of().withUpperCase();

    private Hex() {
    }

    static byte[] decode(String digits) {
        return FORMAT.parseHex(digits);
    }

    static String encode(byte[] bytes) {
        return FORMAT.formatHex(bytes);
    }
}

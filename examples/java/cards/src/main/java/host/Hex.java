package host;

import java.util.HexFormat;

/** Bytes as hexadecimal digits, upper case. */
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

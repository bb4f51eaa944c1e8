package host;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The functions of scripts, listed in README.md. Numbers are unsigned, highest byte first. */
final class Functions {
    private Functions() {
    }

    static byte[] call(String name, List<byte[]> a) {
        try {
            return switch (name) {
                case "add" -> arithmetic(a.get(0), number(a.get(0)).add(number(a.get(1))));
                case "sub" -> arithmetic(a.get(0), number(a.get(0)).subtract(number(a.get(1))));
                case "mod" -> arithmetic(a.get(0), number(a.get(0)).mod(number(a.get(1))));
                case "least" -> number(a.get(0)).compareTo(number(a.get(1))) < 0 ? a.get(0) : a.get(1);
                case "left" -> Arrays.copyOf(a.get(1), count(a.get(0)));
                case "tail" -> Arrays.copyOfRange(a.get(1), count(a.get(0)), a.get(1).length);
                case "cut" -> Arrays.copyOfRange(a.get(2), count(a.get(0)), count(a.get(0)) + count(a.get(1)));
                case "fill" -> fill(count(a.get(0)), a.get(1)[0]);
                case "pattern" -> pattern(count(a.get(0)), a.get(1));
                case "sha1" -> MessageDigest.getInstance("SHA-1").digest(a.get(0));
                case "sha256" -> MessageDigest.getInstance("SHA-256").digest(a.get(0));
                case "hmac1" -> hmac("HmacSHA1", a.get(0), a.get(1));
                case "hmac256" -> hmac("HmacSHA256", a.get(0), a.get(1));
                case "truncate" -> truncate(a.get(0));
                case "digits" -> digits(count(a.get(0)), a.get(1));
                case "des3" -> des3(Cipher.ENCRYPT_MODE, a.get(0), a.get(1));
                case "retail" -> retail(a.get(0), a.get(1));
                case "not" -> not(a.get(0));
                case "odd" -> odd(a.get(0));
                case "pow" -> arithmetic(a.get(2), number(a.get(0)).modPow(number(a.get(1)), number(a.get(2))));
                default -> throw new IllegalArgumentException("no function $" + name);
            };
        } catch (GeneralSecurityException | IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("$" + name + ": " + e.getMessage(), e);
        }
    }

    private static BigInteger number(byte[] bytes) {
        return new BigInteger(1, bytes);
    }

    private static int count(byte[] bytes) {
        return number(bytes).intValueExact();
    }

    /** Returns a number in as many bytes as {@code like} has. */
    private static byte[] arithmetic(byte[] like, BigInteger result) {
        byte[] bytes = result.toByteArray();
        byte[] out = new byte[like.length];
        int length = Math.min(bytes.length, out.length);
        System.arraycopy(bytes, bytes.length - length, out, out.length - length, length);
        return out;
    }

    private static byte[] fill(int length, byte value) {
        byte[] out = new byte[length];
        Arrays.fill(out, value);
        return out;
    }

    /** Returns pseudo-random bytes, which depend on the seed. */
    private static byte[] pattern(int length, byte[] seed) {
        byte[] out = new byte[length];
        int state = number(seed).intValue() * 0x9E3779B1 + 1;
        for (int i = 0; i < length; i++) {
            state = state * 1103515245 + 12345;
            out[i] = (byte) (state >> 16);
        }
        return out;
    }

    private static byte[] hmac(String algorithm, byte[] key, byte[] data) throws GeneralSecurityException {
        Mac mac = Mac.getInstance(algorithm);
        mac.init(new SecretKeySpec(key, algorithm));
        return mac.doFinal(data);
    }

    /** Returns four bytes, with the first bit 0, by the dynamic truncation of RFC 4226. */
    private static byte[] truncate(byte[] mac) {
        int offset = mac[mac.length - 1] & 0x0F;
        byte[] out = Arrays.copyOfRange(mac, offset, offset + 4);
        out[0] &= 0x7F;
        return out;
    }

    private static byte[] digits(int digits, byte[] code) {
        BigInteger value = number(code).mod(BigInteger.TEN.pow(digits));
        return String.format("%0" + digits + "d", value).getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] des3(int mode, byte[] key, byte[] data) throws GeneralSecurityException {
        byte[] three = Arrays.copyOf(key, 24);
        System.arraycopy(key, 0, three, 16, 8);
        Cipher cipher = Cipher.getInstance("DESede/ECB/NoPadding");
        cipher.init(mode, new SecretKeySpec(three, "DESede"));
        return cipher.doFinal(data);
    }

    /** Returns the MAC of ISO 9797-1, algorithm 3 with padding method 2. */
    private static byte[] retail(byte[] key, byte[] data) throws GeneralSecurityException {
        byte[] padded = Arrays.copyOf(data, data.length / 8 * 8 + 8);
        padded[data.length] = (byte) 0x80;
        Cipher left = Cipher.getInstance("DES/ECB/NoPadding");
        left.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, 0, 8, "DES"));
        byte[] chain = new byte[8];
        for (int at = 0; at < padded.length; at += 8) {
            for (int i = 0; i < 8; i++) {
                chain[i] ^= padded[at + i];
            }
            chain = left.doFinal(chain);
        }
        Cipher right = Cipher.getInstance("DES/ECB/NoPadding");
        right.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, 8, 8, "DES"));
        return left.doFinal(right.doFinal(chain));
    }

    private static byte[] not(byte[] bytes) {
        byte[] out = bytes.clone();
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) ~out[i];
        }
        return out;
    }

    private static byte[] odd(byte[] bytes) {
        byte[] out = bytes.clone();
        for (int i = 0; i < out.length; i++) {
            out[i] |= 1;
        }
        return out;
    }
}

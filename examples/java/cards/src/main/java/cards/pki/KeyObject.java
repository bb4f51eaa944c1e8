package cards.pki;

import cards.lib.TlvReader;
import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.security.KeyBuilder;
import javacard.security.RSAPrivateCrtKey;
import javacard.security.RSAPublicKey;

/** An RSA key of 2048 bits, with its permitted uses. */
final class KeyObject {
    static final short MODULUS_BYTES = 256;

    /** Usage bits: sign documents, decipher, authenticate, and require the PIN for every use. */
    static final byte SIGNS = (byte) 0x40;
    static final byte DECIPHERS = (byte) 0x20;
    static final byte AUTHENTICATES = (byte) 0x10;
    static final byte ASKS_EVERY_TIME = (byte) 0x01;

    static final short TAG_REFERENCE = (short) 0x84;
    private static final short TAG_USAGE = (short) 0x95;
    private static final short TAG_PRIVATE = (short) 0x7F48;
    static final short TAG_PUBLIC = (short) 0x7F49;
    private static final short TAG_P = (short) 0x92;
    private static final short TAG_Q = (short) 0x93;
    private static final short TAG_Q_INVERSE = (short) 0x94;
    private static final short TAG_D_P = (short) 0x95;
    private static final short TAG_D_Q = (short) 0x96;
    private static final short TAG_MODULUS = (short) 0x81;
    private static final short TAG_EXPONENT = (short) 0x82;
    private static final short HALF = (short) (MODULUS_BYTES / 2);
    private static final byte HAS_PRIVATE = (byte) 0x1F;

    private final RSAPrivateCrtKey secret;
    private final RSAPublicKey shared;
    private byte usage;

    KeyObject() {
        secret = (RSAPrivateCrtKey) KeyBuilder.buildKey(KeyBuilder.TYPE_RSA_CRT_PRIVATE,
                KeyBuilder.LENGTH_RSA_2048, false);
        shared = (RSAPublicKey) KeyBuilder.buildKey(KeyBuilder.TYPE_RSA_PUBLIC, KeyBuilder.LENGTH_RSA_2048, false);
    }

    /** Reads usage, private and public parts with {@code outer}, and with {@code inner} nested objects. */
    void load(TlvReader outer, TlvReader inner, byte[] data) {
        usage = 0;
        secret.clearKey();
        shared.clearKey();
        outer.expect(data, TAG_USAGE, (short) 1, (short) 1);
        byte use = data[outer.value()];
        outer.expect(data, TAG_PRIVATE, (short) 1, (short) 0x7FFF);
        inner.enter(outer);
        loadPrivate(inner, data);
        outer.expect(data, TAG_PUBLIC, (short) 1, (short) 0x7FFF);
        inner.enter(outer);
        inner.expect(data, TAG_MODULUS, MODULUS_BYTES, MODULUS_BYTES);
        shared.setModulus(data, inner.value(), inner.length());
        inner.expect(data, TAG_EXPONENT, (short) 1, (short) 4);
        shared.setExponent(data, inner.value(), inner.length());
        if (!secret.isInitialized() || !shared.isInitialized()) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        usage = use;
    }

    private void loadPrivate(TlvReader tlv, byte[] data) {
        byte has = 0;
        while (tlv.next(data)) {
            short value = tlv.value();
            if (tlv.length() != HALF) {
                ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
            switch (tlv.tag()) {
                case TAG_P:
                    secret.setP(data, value, HALF);
                    has |= (byte) 0x01;
                    break;
                case TAG_Q:
                    secret.setQ(data, value, HALF);
                    has |= (byte) 0x02;
                    break;
                case TAG_Q_INVERSE:
                    secret.setPQ(data, value, HALF);
                    has |= (byte) 0x04;
                    break;
                case TAG_D_P:
                    secret.setDP1(data, value, HALF);
                    has |= (byte) 0x08;
                    break;
                case TAG_D_Q:
                    secret.setDQ1(data, value, HALF);
                    has |= (byte) 0x10;
                    break;
                default:
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
        }
        if (has != HAS_PRIVATE) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }

    /** Writes the public part as 7F49 { 81 modulus, 82 exponent }. */
    short writePublic(byte[] out, short offset) {
        short at = TlvWriter.tag(out, offset, TAG_PUBLIC);
        short lengthAt = at++;
        at = TlvWriter.head(out, at, TAG_MODULUS, MODULUS_BYTES);
        at = (short) (at + shared.getModulus(out, at));
        at = TlvWriter.tag(out, at, TAG_EXPONENT);
        short exponent = shared.getExponent(out, (short) (at + 1));
        out[at] = (byte) exponent;
        at = (short) ((short) (at + 1) + exponent);
        return TlvWriter.close(out, lengthAt, at);
    }

    boolean isUsable(byte use) {
        return (byte) (usage & use) != 0;
    }

    boolean asksEveryTime() {
        return (byte) (usage & ASKS_EVERY_TIME) != 0;
    }

    RSAPrivateCrtKey secret() {
        return secret;
    }
}

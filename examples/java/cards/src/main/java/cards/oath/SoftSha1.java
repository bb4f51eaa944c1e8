package cards.oath;

import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.MessageDigest;

/**
 * SHA-1 for a card whose coprocessor has none. Words are pairs of shorts, the high one first,
 * because a card need not have ints.
 */
final class SoftSha1 extends MessageDigest {
    private static final byte BYTES = 20;
    private static final short BLOCK = 64;

    // Indices in the array of shorts: the chaining value, a to e, the sum, 16 words of schedule.
    private static final short H = 0;
    private static final short A = 10;
    private static final short B = 12;
    private static final short C = 14;
    private static final short D = 16;
    private static final short E = 18;
    private static final short SUM = 20;
    private static final short W = 22;
    private static final short SHORTS = 54;

    private static final short[] START = {
        (short) 0x6745, (short) 0x2301, (short) 0xEFCD, (short) 0xAB89, (short) 0x98BA, (short) 0xDCFE,
        (short) 0x1032, (short) 0x5476, (short) 0xC3D2, (short) 0xE1F0,
    };
    private static final short[] ROUND = {
        (short) 0x5A82, (short) 0x7999, (short) 0x6ED9, (short) 0xEBA1,
        (short) 0x8F1B, (short) 0xBCDC, (short) 0xCA62, (short) 0xC1D6,
    };

    private final short[] s;
    private final byte[] block;
    // Number of bytes in the block, and of blocks before it.
    private final short[] fill;

    SoftSha1() {
        s = JCSystem.makeTransientShortArray(SHORTS, JCSystem.CLEAR_ON_DESELECT);
        block = JCSystem.makeTransientByteArray(BLOCK, JCSystem.CLEAR_ON_DESELECT);
        fill = JCSystem.makeTransientShortArray((short) 2, JCSystem.CLEAR_ON_DESELECT);
    }

    @Override
    public byte getAlgorithm() {
        return ALG_SHA;
    }

    @Override
    public byte getLength() {
        return BYTES;
    }

    @Override
    public void reset() {
        for (short i = 0; i < (short) 10; i++) {
            s[(short) (H + i)] = START[i];
        }
        fill[0] = 0;
        fill[1] = 0;
    }

    @Override
    public void update(byte[] data, short offset, short length) {
        short at = fill[0];
        while (length > 0) {
            short part = (short) (BLOCK - at);
            if (part > length) {
                part = length;
            }
            Util.arrayCopyNonAtomic(data, offset, block, at, part);
            offset = (short) (offset + part);
            length = (short) (length - part);
            at = (short) (at + part);
            if (at == BLOCK) {
                compress();
                fill[1]++;
                at = 0;
            }
        }
        fill[0] = at;
    }

    @Override
    public short doFinal(byte[] data, short offset, short length, byte[] out, short outAt) {
        update(data, offset, length);
        short at = fill[0];
        // The length is in bits. Messages are shorter than 4 KiB.
        short bits = (short) ((short) (fill[1] << 9) + (short) (at << 3));
        block[at++] = (byte) 0x80;
        if (at > (short) (BLOCK - 8)) {
            Util.arrayFillNonAtomic(block, at, (short) (BLOCK - at), (byte) 0);
            compress();
            at = 0;
        }
        Util.arrayFillNonAtomic(block, at, (short) (BLOCK - at), (byte) 0);
        Util.setShort(block, (short) (BLOCK - 2), bits);
        compress();
        for (short i = 0; i < (short) 10; i++) {
            outAt = Util.setShort(out, outAt, s[(short) (H + i)]);
        }
        reset();
        return (short) BYTES;
    }

    private void compress() {
        short[] w = s;
        for (short i = 0; i < (short) 32; i++) {
            w[(short) (W + i)] = Util.getShort(block, (short) (i << 1));
        }
        for (short i = 0; i < (short) 10; i++) {
            w[(short) (A + i)] = w[(short) (H + i)];
        }
        for (short t = 0; t < (short) 80; t++) {
            short word = (short) (W + (short) ((t & 15) << 1));
            if (t >= (short) 16) {
                schedule(t, word);
            }
            round(t, word);
        }
        for (short i = 0; i < (short) 10; i = (short) (i + 2)) {
            add((short) (H + i), (short) (A + i));
        }
    }

    // w[t] = (w[t-3] ^ w[t-8] ^ w[t-14] ^ w[t-16]) <<< 1
    private void schedule(short t, short word) {
        short[] w = s;
        short a = (short) (W + (short) (((t - 3) & 15) << 1));
        short b = (short) (W + (short) (((t - 8) & 15) << 1));
        short c = (short) (W + (short) (((t - 14) & 15) << 1));
        short high = (short) ((short) (w[a] ^ w[b]) ^ (short) (w[c] ^ w[word]));
        a++;
        b++;
        c++;
        short low = (short) ((short) (w[a] ^ w[b]) ^ (short) (w[c] ^ w[(short) (word + 1)]));
        w[word] = (short) ((short) (high << 1) | (short) ((low >> 15) & 1));
        w[(short) (word + 1)] = (short) ((short) (low << 1) | (short) ((high >> 15) & 1));
    }

    // a, b, c, d, e = (a <<< 5) + f(b, c, d) + e + K + w[t], a, b <<< 30, c, d
    private void round(short t, short word) {
        short[] w = s;
        short high;
        short low;
        short constant;
        if (t < (short) 20) {
            high = (short) ((short) (w[B] & w[C]) | (short) (~w[B] & w[D]));
            low = (short) ((short) (w[(short) (B + 1)] & w[(short) (C + 1)])
                    | (short) (~w[(short) (B + 1)] & w[(short) (D + 1)]));
            constant = 0;
        } else if (t >= (short) 40 && t < (short) 60) {
            high = (short) ((short) (w[B] & w[C]) | (short) (w[D] & (short) (w[B] | w[C])));
            low = (short) ((short) (w[(short) (B + 1)] & w[(short) (C + 1)])
                    | (short) (w[(short) (D + 1)] & (short) (w[(short) (B + 1)] | w[(short) (C + 1)])));
            constant = 4;
        } else {
            high = (short) ((short) (w[B] ^ w[C]) ^ w[D]);
            low = (short) ((short) (w[(short) (B + 1)] ^ w[(short) (C + 1)]) ^ w[(short) (D + 1)]);
            constant = t < (short) 40 ? (short) 2 : (short) 6;
        }
        w[SUM] = high;
        w[(short) (SUM + 1)] = low;
        add(SUM, E);
        add(SUM, word);
        add(SUM, ROUND[constant], ROUND[(short) (constant + 1)]);
        high = w[A];
        low = w[(short) (A + 1)];
        add(SUM, (short) ((short) (high << 5) | (short) ((low >> 11) & 0x1F)),
                (short) ((short) (low << 5) | (short) ((high >> 11) & 0x1F)));
        w[E] = w[D];
        w[(short) (E + 1)] = w[(short) (D + 1)];
        w[D] = w[C];
        w[(short) (D + 1)] = w[(short) (C + 1)];
        short bHigh = w[B];
        short bLow = w[(short) (B + 1)];
        w[C] = (short) ((short) (bLow << 14) | (short) ((bHigh >> 2) & 0x3FFF));
        w[(short) (C + 1)] = (short) ((short) (bHigh << 14) | (short) ((bLow >> 2) & 0x3FFF));
        w[B] = high;
        w[(short) (B + 1)] = low;
        w[A] = w[SUM];
        w[(short) (A + 1)] = w[(short) (SUM + 1)];
    }

    private void add(short to, short what) {
        add(to, s[what], s[(short) (what + 1)]);
    }

    // The low half has a carry if the sum of two shorts is smaller than one of them, unsigned.
    private void add(short to, short high, short low) {
        short lowAt = (short) (to + 1);
        short sum = (short) (s[lowAt] + low);
        if ((short) (sum ^ (short) 0x8000) < (short) (low ^ (short) 0x8000)) {
            high++;
        }
        s[lowAt] = sum;
        s[to] = (short) (s[to] + high);
    }
}

package cards.purse;

import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.RandomData;

/**
 * The account: balance, limits, counters and log, and the two steps of a load or purchase. The
 * first step stores amount and terminal, and returns a random number. The second step is
 * authenticated with a session key, which is derived from that number and the counter. It is
 * completed as a whole or not at all.
 */
final class Purse {
    /** Type of a transaction in a log record. */
    static final byte TYPE_LOAD = 2;
    static final byte TYPE_PURCHASE = 6;

    private static final byte LOG_RECORDS = 10;

    // Offsets in a log record: type, counter, amount, terminal, date and time, new balance, receipt.
    private static final short LOG_TYPE = 0;
    private static final short LOG_COUNTER = 1;
    private static final short LOG_AMOUNT = 3;
    private static final short LOG_TERMINAL = 7;
    private static final short LOG_TIME = 13;
    private static final short LOG_BALANCE = 20;
    private static final short LOG_RECEIPT = 24;
    private static final short LOG_BYTES = 28;

    private static final short TERMINAL_BYTES = 6;
    private static final short TIME_BYTES = 7;
    private static final short RANDOM_BYTES = 4;
    private static final short MAC_BYTES = 4;
    private static final short COUNTER_END = (short) 0x7FFF;

    // State that the first step leaves for the second, in RAM.
    private static final short NOW_TYPE = 0;
    private static final short NOW_AMOUNT = 1;
    private static final short NOW_TERMINAL = 5;
    private static final short NOW_SEED = 11;
    private static final short NOW_RECORD = 19;
    private static final short NOW_BYTES = 47;

    private final byte[] balance = new byte[Amount.SIZE];
    private final byte[] maximum = new byte[Amount.SIZE];
    private final byte[] limit = new byte[Amount.SIZE];
    private short loads;
    private short purchases;
    private final CyclicFile log;
    private final PurseKey loadKey;
    private final PurseKey purchaseKey;
    private final PurseKey receiptKey;
    private final PurseKey session;
    private final MacEngine mac;
    private final RandomData random;
    private final byte[] now;

    Purse(MacEngine mac, RandomData random, PurseKey loadKey, PurseKey purchaseKey, PurseKey receiptKey) {
        this.mac = mac;
        this.random = random;
        this.loadKey = loadKey;
        this.purchaseKey = purchaseKey;
        this.receiptKey = receiptKey;
        session = new PurseKey(true);
        log = new CyclicFile(LOG_RECORDS, LOG_BYTES);
        now = JCSystem.makeTransientByteArray(NOW_BYTES, JCSystem.CLEAR_ON_DESELECT);
    }

    /** Returns the largest balance that the purse may have. */
    void setMaximum(byte[] value, short offset) {
        Util.arrayCopy(value, offset, maximum, (short) 0, Amount.SIZE);
    }

    /** Returns the largest amount of one purchase. */
    void setLimit(byte[] value, short offset) {
        Util.arrayCopy(value, offset, limit, (short) 0, Amount.SIZE);
    }

    short balance(byte[] out, short offset) {
        return Util.arrayCopyNonAtomic(balance, (short) 0, out, offset, Amount.SIZE);
    }

    short limit(byte[] out, short offset) {
        return Util.arrayCopyNonAtomic(limit, (short) 0, out, offset, Amount.SIZE);
    }

    CyclicFile log() {
        return log;
    }

    /** Discards the state of a first step. */
    void forget() {
        now[NOW_TYPE] = 0;
    }

    /**
     * INITIALIZE. In: key version, amount, terminal. Out: balance, counter, key version,
     * algorithm, random number; for a load also a MAC over balance, amount, type and terminal.
     */
    short initialize(byte type, byte[] buffer, short offset) {
        boolean load = type == TYPE_LOAD;
        PurseKey key = load ? loadKey : purchaseKey;
        short counter = load ? loads : purchases;
        forget();
        key.checkUsable();
        if (buffer[offset] != key.version()) {
            ISOException.throwIt(PurseApplet.SW_KEY_NOT_FOUND);
        }
        if (counter == COUNTER_END) {
            ISOException.throwIt(PurseApplet.SW_COUNTER_AT_END);
        }
        short amount = (short) (offset + 1);
        if (Amount.isZero(buffer, amount)) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        if (load) {
            if (Amount.add(balance, (short) 0, buffer, amount, now, NOW_RECORD)
                    || Amount.exceeds(now, NOW_RECORD, maximum, (short) 0)) {
                ISOException.throwIt(PurseApplet.SW_LIMIT_EXCEEDED);
            }
        } else {
            if (Amount.exceeds(buffer, amount, limit, (short) 0)) {
                ISOException.throwIt(PurseApplet.SW_LIMIT_EXCEEDED);
            }
            if (Amount.exceeds(buffer, amount, balance, (short) 0)) {
                ISOException.throwIt(PurseApplet.SW_FUNDS);
            }
        }
        Util.arrayCopyNonAtomic(buffer, amount, now, NOW_AMOUNT, (short) (Amount.SIZE + TERMINAL_BYTES));
        random.generateData(now, NOW_SEED, RANDOM_BYTES);
        Util.setShort(now, (short) (NOW_SEED + RANDOM_BYTES), counter);
        now[(short) (NOW_SEED + RANDOM_BYTES + 2)] = (byte) 0x80;
        now[(short) (NOW_SEED + RANDOM_BYTES + 3)] = type;
        mac.derive(key, now, NOW_SEED, session);
        now[NOW_TYPE] = type;

        short end = balance(buffer, (short) 0);
        end = Util.setShort(buffer, end, counter);
        buffer[end++] = key.version();
        buffer[end++] = PurseApplet.ALGORITHM;
        end = Util.arrayCopyNonAtomic(now, NOW_SEED, buffer, end, RANDOM_BYTES);
        if (load) {
            mac.begin(session);
            mac.update(balance, (short) 0, Amount.SIZE);
            updateOrder();
            end = mac.finish(buffer, end, MAC_BYTES);
        }
        return end;
    }

    /**
     * CREDIT FOR LOAD. In: date and time, MAC over amount, type, terminal, date and time. Out:
     * the receipt.
     */
    short credit(byte[] buffer, short offset) {
        if (now[NOW_TYPE] != TYPE_LOAD) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        forget();
        mac.begin(session);
        updateOrder();
        mac.update(TYPE_LOAD);
        mac.update(buffer, offset, TIME_BYTES);
        loadKey.verified(mac.matches(buffer, (short) (offset + TIME_BYTES), MAC_BYTES));

        Amount.add(balance, (short) 0, now, NOW_AMOUNT, now, (short) (NOW_RECORD + LOG_BALANCE));
        record(TYPE_LOAD, loads, buffer, offset);
        receipt();
        commit(TYPE_LOAD);
        return Util.arrayCopyNonAtomic(now, (short) (NOW_RECORD + LOG_RECEIPT), buffer, (short) 0, MAC_BYTES);
    }

    /**
     * DEBIT FOR PURCHASE. In: number of the terminal's transaction, date and time, MAC over
     * amount, terminal, number, date and time. Out: the receipt, and a MAC over the amount for
     * the terminal.
     */
    short debit(byte[] buffer, short offset) {
        if (now[NOW_TYPE] != TYPE_PURCHASE) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        forget();
        mac.begin(session);
        updateOrder();
        mac.update(TYPE_PURCHASE);
        mac.update(buffer, offset, (short) (4 + TIME_BYTES));
        purchaseKey.verified(mac.matches(buffer, (short) (offset + 4 + TIME_BYTES), MAC_BYTES));

        if (Amount.subtract(balance, (short) 0, now, NOW_AMOUNT, now, (short) (NOW_RECORD + LOG_BALANCE))) {
            ISOException.throwIt(PurseApplet.SW_FUNDS);
        }
        record(TYPE_PURCHASE, purchases, buffer, (short) (offset + 4));
        receipt();
        commit(TYPE_PURCHASE);
        short end = Util.arrayCopyNonAtomic(now, (short) (NOW_RECORD + LOG_RECEIPT), buffer, (short) 0, MAC_BYTES);
        mac.begin(session);
        mac.update(now, NOW_AMOUNT, Amount.SIZE);
        return mac.finish(buffer, end, MAC_BYTES);
    }

    /** GET TRANSACTION PROOF. In: type, counter. Out: receipt; 9406 if it is no longer in the log. */
    short proof(byte[] buffer, short offset) {
        byte number = log.find(buffer, offset, (short) 3);
        if (number == 0) {
            ISOException.throwIt(PurseApplet.SW_NO_PROOF);
        }
        log.read(number, now, NOW_RECORD);
        return Util.arrayCopyNonAtomic(now, (short) (NOW_RECORD + LOG_RECEIPT), buffer, (short) 0, MAC_BYTES);
    }

    private void updateOrder() {
        mac.update(now, NOW_AMOUNT, (short) (Amount.SIZE + TERMINAL_BYTES));
    }

    private void record(byte type, short counter, byte[] time, short timeAt) {
        now[(short) (NOW_RECORD + LOG_TYPE)] = type;
        Util.setShort(now, (short) (NOW_RECORD + LOG_COUNTER), counter);
        Util.arrayCopyNonAtomic(now, NOW_AMOUNT, now, (short) (NOW_RECORD + LOG_AMOUNT), Amount.SIZE);
        Util.arrayCopyNonAtomic(now, NOW_TERMINAL, now, (short) (NOW_RECORD + LOG_TERMINAL), TERMINAL_BYTES);
        Util.arrayCopyNonAtomic(time, timeAt, now, (short) (NOW_RECORD + LOG_TIME), TIME_BYTES);
    }

    private void receipt() {
        mac.begin(receiptKey);
        mac.update(now, NOW_RECORD, LOG_RECEIPT);
        mac.finish(now, (short) (NOW_RECORD + LOG_RECEIPT), MAC_BYTES);
    }

    private void commit(byte type) {
        JCSystem.beginTransaction();
        Util.arrayCopy(now, (short) (NOW_RECORD + LOG_BALANCE), balance, (short) 0, Amount.SIZE);
        log.append(now, NOW_RECORD);
        if (type == TYPE_LOAD) {
            loads++;
        } else {
            purchases++;
        }
        JCSystem.commitTransaction();
    }
}

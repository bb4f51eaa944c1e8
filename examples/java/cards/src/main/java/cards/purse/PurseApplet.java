package cards.purse;

import cards.lib.TlvReader;
import cards.lib.TlvWriter;
import javacard.framework.APDU;
import javacard.framework.Applet;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.OwnerPIN;
import javacard.framework.Util;
import javacard.security.RandomData;

/**
 * An electronic purse. The issuer personalises it with a transport key. Then the holder loads and
 * reads it, with a PIN, and terminals debit it for purchases. Amounts are unsigned numbers of four
 * bytes, PINs are blocks of eight (ISO 9564 format 2), keys have 16 bytes for triple DES, and MACs are
 * retail MACs cut to four bytes.
 *
 * <pre>
 * CLA INS P1 P2      command               needs
 * 00  A4  04 00      SELECT
 * 00  84  00 00      GET CHALLENGE
 * 00  82  00 00      EXTERNAL AUTHENTICATE personalisation
 * 80  E2  00|80 00   STORE DATA            EXTERNAL AUTHENTICATE; 80 for the last one
 * 00  B0  95 offset  READ BINARY           of file 15, the public data
 * 00  B2  n  C4      READ RECORD           of file 18, the log; PIN
 * 00  20  00 01      VERIFY                without data: returns the tries left
 * 00  24  00 01      CHANGE REFERENCE DATA old PIN, new PIN
 * 00  2C  00 01      RESET RETRY COUNTER   PUK, new PIN
 * 80  5C  00 02      GET BALANCE           PIN
 * 80  50  00|01 02   INITIALIZE            for a load (PIN) or a purchase
 * 80  52  00 00      CREDIT FOR LOAD       PIN, INITIALIZE
 * 80  54  01 00      DEBIT FOR PURCHASE    INITIALIZE
 * 80  5A  00 00      GET TRANSACTION PROOF
 * 84  58  00 00      UPDATE LIMIT          GET CHALLENGE, MAC of the maintenance key
 * 84  18  00 00      APPLICATION UNBLOCK   the same
 * 84  1E  00 00      APPLICATION BLOCK     the same
 * 84  24  00 01      PIN UNBLOCK           the same
 * </pre>
 */
public final class PurseApplet extends Applet {
    static final short SW_TRIES_LEFT = (short) 0x63C0;
    static final short SW_MEMORY_FAILURE = (short) 0x6581;
    static final short SW_BLOCKED = (short) 0x6983;
    static final short SW_MAC_MISSING = (short) 0x6987;
    static final short SW_KEY_NOT_FOUND = (short) 0x6A88;
    static final short SW_FUNDS = (short) 0x9401;
    static final short SW_COUNTER_AT_END = (short) 0x9402;
    static final short SW_LIMIT_EXCEEDED = (short) 0x9403;
    static final short SW_NO_PROOF = (short) 0x9406;
    static final short SW_APPLICATION_BLOCKED = (short) 0x9303;

    /** Algorithm identifier: retail MAC with derived keys. */
    static final byte ALGORITHM = (byte) 0x01;

    private static final byte CLA_ISO = (byte) 0x00;
    private static final byte CLA_PURSE = (byte) 0x80;
    private static final byte CLA_SECURED = (byte) 0x84;

    private static final byte INS_APPLICATION_UNBLOCK = (byte) 0x18;
    private static final byte INS_APPLICATION_BLOCK = (byte) 0x1E;
    private static final byte INS_VERIFY = (byte) 0x20;
    private static final byte INS_CHANGE = (byte) 0x24;
    private static final byte INS_RESET_RETRY = (byte) 0x2C;
    private static final byte INS_INITIALIZE = (byte) 0x50;
    private static final byte INS_CREDIT = (byte) 0x52;
    private static final byte INS_DEBIT = (byte) 0x54;
    private static final byte INS_UPDATE_LIMIT = (byte) 0x58;
    private static final byte INS_PROOF = (byte) 0x5A;
    private static final byte INS_BALANCE = (byte) 0x5C;
    private static final byte INS_EXTERNAL_AUTHENTICATE = (byte) 0x82;
    private static final byte INS_CHALLENGE = (byte) 0x84;
    private static final byte INS_READ_BINARY = (byte) 0xB0;
    private static final byte INS_READ_RECORD = (byte) 0xB2;
    private static final byte INS_STORE_DATA = (byte) 0xE2;

    private static final byte MADE = 0;
    private static final byte ISSUED = 1;
    private static final byte BLOCKED = 2;

    private static final byte PIN_TRIES = 3;
    private static final byte PUK_TRIES = 10;
    private static final byte PIN_BLOCK = 8;
    private static final short CHALLENGE_BYTES = 8;
    private static final short CHECK_BYTES = 3;

    // Offsets in the public file: number, expiry, currency, name.
    private static final short NUMBER_AT = 0;
    private static final short NUMBER_BYTES = 10;
    private static final short EXPIRY_AT = 10;
    private static final short EXPIRY_BYTES = 3;
    private static final short CURRENCY_AT = 13;
    private static final short CURRENCY_BYTES = 2;
    private static final short NAME_AT = 15;
    private static final short NAME_BYTES = 26;
    private static final short PUBLIC_BYTES = 41;

    private static final short TAG_NUMBER = (short) 0x5A;
    private static final short TAG_NAME = (short) 0x5F20;
    private static final short TAG_EXPIRY = (short) 0x5F24;
    private static final short TAG_CURRENCY = (short) 0x5F2A;
    private static final short TAG_MAXIMUM = (short) 0xDF01;
    private static final short TAG_LIMIT = (short) 0xDF02;
    private static final short TAG_PIN = (short) 0xDF03;
    private static final short TAG_PUK = (short) 0xDF04;
    private static final short TAG_LOAD_KEY = (short) 0xDF05;
    private static final short TAG_PURCHASE_KEY = (short) 0xDF06;
    private static final short TAG_RECEIPT_KEY = (short) 0xDF07;
    private static final short TAG_MAINTENANCE_KEY = (short) 0xDF08;

    // The stored objects, one bit for each.
    private static final short HAS_ALL = (short) 0x0FFF;

    // Indices of flags and of the challenge, in RAM.
    private static final short CHALLENGE = 0;
    private static final short HAS_CHALLENGE = 8;
    private static final short AUTHENTICATED = 9;
    private static final short SCRATCH = 10;
    private static final short RAM_BYTES = 34;

    private final OwnerPIN pin;
    private final OwnerPIN puk;
    private final PurseKey transportKey;
    private final PurseKey loadKey;
    private final PurseKey purchaseKey;
    private final PurseKey receiptKey;
    private final PurseKey maintenanceKey;
    private final MacEngine mac;
    private final RandomData random;
    private final TlvReader tlv;
    private final Purse purse;
    private final byte[] publicData;
    private final byte[] ram;
    private byte life;
    private short stored;

    private PurseApplet(byte[] parameters, short offset, byte length) {
        if (length != (byte) PurseKey.BYTES) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        pin = new OwnerPIN(PIN_TRIES, PIN_BLOCK);
        puk = new OwnerPIN(PUK_TRIES, PIN_BLOCK);
        transportKey = new PurseKey(false);
        loadKey = new PurseKey(false);
        purchaseKey = new PurseKey(false);
        receiptKey = new PurseKey(false);
        maintenanceKey = new PurseKey(false);
        mac = new MacEngine();
        random = RandomData.getInstance(RandomData.ALG_SECURE_RANDOM);
        tlv = new TlvReader();
        purse = new Purse(mac, random, loadKey, purchaseKey, receiptKey);
        publicData = new byte[PUBLIC_BYTES];
        ram = JCSystem.makeTransientByteArray(RAM_BYTES, JCSystem.CLEAR_ON_DESELECT);
        transportKey.set(parameters, offset);
    }

    /**
     * Makes the applet.
     *
     * @param parameters lengths and bytes of the AID, of control data and of the transport key
     */
    public static void install(byte[] parameters, short offset, byte length) {
        short at = offset;
        byte aidLength = parameters[at];
        short aid = (short) (at + 1);
        at = (short) (aid + aidLength);
        at = (short) (at + parameters[at] + 1);
        byte keyLength = parameters[at];
        PurseApplet applet = new PurseApplet(parameters, (short) (at + 1), keyLength);
        applet.register(parameters, aid, aidLength);
    }

    @Override
    public boolean select() {
        purse.forget();
        return true;
    }

    @Override
    public void deselect() {
        pin.reset();
        puk.reset();
    }

    @Override
    public void process(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (selectingApplet()) {
            sendSelected(apdu);
            return;
        }
        byte cla = buffer[ISO7816.OFFSET_CLA];
        byte ins = buffer[ISO7816.OFFSET_INS];
        if (cla == CLA_SECURED) {
            secured(apdu, ins);
            return;
        }
        if (cla == CLA_ISO) {
            switch (ins) {
                case INS_CHALLENGE:
                    challenge(apdu);
                    return;
                case INS_EXTERNAL_AUTHENTICATE:
                    externalAuthenticate(apdu);
                    return;
                case INS_READ_BINARY:
                    readBinary(apdu);
                    return;
                case INS_READ_RECORD:
                    readRecord(apdu);
                    return;
                case INS_VERIFY:
                    verify(apdu);
                    return;
                case INS_CHANGE:
                    change(apdu);
                    return;
                case INS_RESET_RETRY:
                    resetRetry(apdu);
                    return;
                default:
                    ISOException.throwIt(ISO7816.SW_INS_NOT_SUPPORTED);
            }
        }
        if (cla != CLA_PURSE) {
            ISOException.throwIt(ISO7816.SW_CLA_NOT_SUPPORTED);
        }
        short end;
        switch (ins) {
            case INS_STORE_DATA:
                storeData(apdu);
                return;
            case INS_BALANCE:
                checkWorking();
                checkPin();
                end = purse.balance(buffer, (short) 0);
                break;
            case INS_INITIALIZE:
                checkWorking();
                end = initialize(apdu);
                break;
            case INS_CREDIT:
                checkWorking();
                checkPin();
                receive(apdu, (short) 11);
                end = purse.credit(buffer, ISO7816.OFFSET_CDATA);
                break;
            case INS_DEBIT:
                checkWorking();
                if (buffer[ISO7816.OFFSET_P1] != 1) {
                    ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
                }
                receive(apdu, (short) 15);
                end = purse.debit(buffer, ISO7816.OFFSET_CDATA);
                break;
            case INS_PROOF:
                checkWorking();
                receive(apdu, (short) 3);
                end = purse.proof(buffer, ISO7816.OFFSET_CDATA);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INS_NOT_SUPPORTED);
                return;
        }
        apdu.setOutgoingAndSend((short) 0, end);
    }

    // 6F { 84 AID, A5 { 50 label, BF0C { 5A number, 5F24 expiry, DF0F life } } }
    private void sendSelected(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        buffer[0] = (byte) 0x6F;
        short at = 2;
        buffer[at++] = (byte) 0x84;
        byte aid = JCSystem.getAID().getBytes(buffer, (short) (at + 1));
        buffer[at++] = aid;
        at = (short) (at + aid);
        buffer[at++] = (byte) 0xA5;
        short proprietary = at++;
        buffer[at++] = (byte) 0x50;
        buffer[at++] = (byte) 3;
        buffer[at++] = (byte) 'F';
        buffer[at++] = (byte) 'P';
        buffer[at++] = (byte) 'P';
        at = TlvWriter.tag(buffer, at, (short) 0xBF0C);
        short issuer = at++;
        if (life != MADE) {
            at = TlvWriter.object(buffer, at, TAG_NUMBER, publicData, NUMBER_AT, NUMBER_BYTES);
            at = TlvWriter.object(buffer, at, TAG_EXPIRY, publicData, EXPIRY_AT, EXPIRY_BYTES);
        }
        at = TlvWriter.objectByte(buffer, at, (short) 0xDF0F, life);
        at = TlvWriter.close(buffer, issuer, at);
        at = TlvWriter.close(buffer, proprietary, at);
        at = TlvWriter.close(buffer, (short) 1, at);
        apdu.setOutgoingAndSend((short) 0, at);
    }

    private void challenge(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (Util.getShort(buffer, ISO7816.OFFSET_P1) != 0) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        if (apdu.setOutgoing() != CHALLENGE_BYTES) {
            ISOException.throwIt((short) (ISO7816.SW_CORRECT_LENGTH_00 | CHALLENGE_BYTES));
        }
        random.generateData(ram, CHALLENGE, CHALLENGE_BYTES);
        ram[HAS_CHALLENGE] = 1;
        Util.arrayCopyNonAtomic(ram, CHALLENGE, buffer, (short) 0, CHALLENGE_BYTES);
        apdu.setOutgoingLength(CHALLENGE_BYTES);
        apdu.sendBytes((short) 0, CHALLENGE_BYTES);
    }

    private void externalAuthenticate(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        ram[AUTHENTICATED] = 0;
        if (life != MADE) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        receive(apdu, CHALLENGE_BYTES);
        useChallenge();
        transportKey.checkUsable();
        mac.encrypt(transportKey, ram, CHALLENGE, CHALLENGE_BYTES, ram, SCRATCH);
        transportKey.verified(
                Util.arrayCompare(ram, SCRATCH, buffer, ISO7816.OFFSET_CDATA, CHALLENGE_BYTES) == 0);
        ram[AUTHENTICATED] = 1;
    }

    private void storeData(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (life != MADE) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        if (ram[AUTHENTICATED] == 0) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
        short length = receive(apdu);
        tlv.begin(ISO7816.OFFSET_CDATA, length);
        while (tlv.next(buffer)) {
            store(buffer, tlv.tag(), tlv.value(), tlv.length());
        }
        if (buffer[ISO7816.OFFSET_P1] == (byte) 0x80) {
            if (stored != HAS_ALL) {
                ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
            }
            life = ISSUED;
            ram[AUTHENTICATED] = 0;
        }
    }

    private void store(byte[] buffer, short tag, short value, short length) {
        short bit;
        switch (tag) {
            case TAG_NUMBER:
                checkLength(length, NUMBER_BYTES);
                checkNumber(buffer, value);
                Util.arrayCopy(buffer, value, publicData, NUMBER_AT, NUMBER_BYTES);
                bit = (short) 0x0001;
                break;
            case TAG_NAME:
                if (length > NAME_BYTES) {
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                }
                Util.arrayFillNonAtomic(publicData, NAME_AT, NAME_BYTES, (byte) ' ');
                Util.arrayCopy(buffer, value, publicData, NAME_AT, length);
                bit = (short) 0x0002;
                break;
            case TAG_EXPIRY:
                checkLength(length, EXPIRY_BYTES);
                Util.arrayCopy(buffer, value, publicData, EXPIRY_AT, EXPIRY_BYTES);
                bit = (short) 0x0004;
                break;
            case TAG_CURRENCY:
                checkLength(length, CURRENCY_BYTES);
                Util.arrayCopy(buffer, value, publicData, CURRENCY_AT, CURRENCY_BYTES);
                bit = (short) 0x0008;
                break;
            case TAG_MAXIMUM:
                checkLength(length, Amount.SIZE);
                purse.setMaximum(buffer, value);
                bit = (short) 0x0010;
                break;
            case TAG_LIMIT:
                checkLength(length, Amount.SIZE);
                purse.setLimit(buffer, value);
                bit = (short) 0x0020;
                break;
            case TAG_PIN:
                checkLength(length, (short) PIN_BLOCK);
                mac.decrypt(transportKey, buffer, value, (short) PIN_BLOCK, buffer, value);
                checkPinBlock(buffer, value);
                pin.update(buffer, value, PIN_BLOCK);
                bit = (short) 0x0040;
                break;
            case TAG_PUK:
                checkLength(length, (short) PIN_BLOCK);
                mac.decrypt(transportKey, buffer, value, (short) PIN_BLOCK, buffer, value);
                puk.update(buffer, value, PIN_BLOCK);
                bit = (short) 0x0080;
                break;
            case TAG_LOAD_KEY:
                storeKey(loadKey, buffer, value, length);
                bit = (short) 0x0100;
                break;
            case TAG_PURCHASE_KEY:
                storeKey(purchaseKey, buffer, value, length);
                bit = (short) 0x0200;
                break;
            case TAG_RECEIPT_KEY:
                storeKey(receiptKey, buffer, value, length);
                bit = (short) 0x0400;
                break;
            case TAG_MAINTENANCE_KEY:
                storeKey(maintenanceKey, buffer, value, length);
                bit = (short) 0x0800;
                break;
            default:
                ISOException.throwIt(SW_KEY_NOT_FOUND);
                return;
        }
        stored |= bit;
    }

    // Version, the key encrypted with the transport key, and the first bytes of zeros encrypted with it.
    private void storeKey(PurseKey key, byte[] buffer, short value, short length) {
        checkLength(length, (short) (1 + PurseKey.BYTES + CHECK_BYTES));
        short at = (short) (value + 1);
        mac.decrypt(transportKey, buffer, at, PurseKey.BYTES, buffer, at);
        key.set(buffer, at);
        key.setVersion(buffer[value]);
        Util.arrayFillNonAtomic(ram, SCRATCH, MacEngine.BLOCK, (byte) 0);
        mac.encrypt(key, ram, SCRATCH, MacEngine.BLOCK, ram, SCRATCH);
        if (Util.arrayCompare(ram, SCRATCH, buffer, (short) (at + PurseKey.BYTES), CHECK_BYTES) != 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        Util.arrayFillNonAtomic(buffer, at, PurseKey.BYTES, (byte) 0);
    }

    // Checks Luhn's sum over all digits.
    private static void checkNumber(byte[] buffer, short offset) {
        short sum = 0;
        boolean twice = false;
        for (short i = (short) (NUMBER_BYTES * 2 - 1); i >= 0; i--) {
            byte pair = buffer[(short) (offset + (short) (i >> 1))];
            byte digit = (i & 1) != 0 ? (byte) (pair & 0x0F) : (byte) ((pair >> 4) & 0x0F);
            if (digit > 9) {
                ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
            if (twice) {
                digit = (byte) (digit << 1);
                if (digit > 9) {
                    digit = (byte) (digit - 9);
                }
            }
            sum = (short) (sum + digit);
            twice = !twice;
        }
        if ((short) (sum % 10) != 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }

    private void readBinary(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (buffer[ISO7816.OFFSET_P1] != (byte) 0x95) {
            ISOException.throwIt(ISO7816.SW_FILE_NOT_FOUND);
        }
        short offset = (short) (buffer[ISO7816.OFFSET_P2] & 0xFF);
        if (offset >= PUBLIC_BYTES) {
            ISOException.throwIt(ISO7816.SW_WRONG_P1P2);
        }
        short wanted = apdu.setOutgoing();
        short left = (short) (PUBLIC_BYTES - offset);
        if (wanted > left) {
            if (wanted != (short) 256) {
                ISOException.throwIt((short) (ISO7816.SW_CORRECT_LENGTH_00 | left));
            }
            wanted = left;
        }
        apdu.setOutgoingLength(wanted);
        apdu.sendBytesLong(publicData, offset, wanted);
    }

    private void readRecord(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        checkWorking();
        if (buffer[ISO7816.OFFSET_P2] != (byte) 0xC4) {
            ISOException.throwIt(ISO7816.SW_FILE_NOT_FOUND);
        }
        checkPin();
        short end = purse.log().read(buffer[ISO7816.OFFSET_P1], buffer, (short) 0);
        apdu.setOutgoingAndSend((short) 0, end);
    }

    private void verify(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        checkPinReference(buffer);
        checkIssued();
        if (receive(apdu) == 0) {
            if (pin.isValidated()) {
                return;
            }
            refusePin(pin);
        }
        checkLength((short) (buffer[ISO7816.OFFSET_LC] & 0xFF), (short) PIN_BLOCK);
        checkPinBlock(buffer, ISO7816.OFFSET_CDATA);
        checkTries(pin);
        if (!pin.check(buffer, ISO7816.OFFSET_CDATA, PIN_BLOCK)) {
            refusePin(pin);
        }
    }

    private void change(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        checkPinReference(buffer);
        checkIssued();
        receive(apdu, (short) (2 * PIN_BLOCK));
        checkPinBlock(buffer, ISO7816.OFFSET_CDATA);
        checkPinBlock(buffer, (short) (ISO7816.OFFSET_CDATA + PIN_BLOCK));
        checkTries(pin);
        if (!pin.check(buffer, ISO7816.OFFSET_CDATA, PIN_BLOCK)) {
            refusePin(pin);
        }
        pin.update(buffer, (short) (ISO7816.OFFSET_CDATA + PIN_BLOCK), PIN_BLOCK);
        pin.check(buffer, (short) (ISO7816.OFFSET_CDATA + PIN_BLOCK), PIN_BLOCK);
    }

    private void resetRetry(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        checkPinReference(buffer);
        checkIssued();
        receive(apdu, (short) (2 * PIN_BLOCK));
        checkPinBlock(buffer, (short) (ISO7816.OFFSET_CDATA + PIN_BLOCK));
        checkTries(puk);
        if (!puk.check(buffer, ISO7816.OFFSET_CDATA, PIN_BLOCK)) {
            refusePin(puk);
        }
        pin.update(buffer, (short) (ISO7816.OFFSET_CDATA + PIN_BLOCK), PIN_BLOCK);
        puk.reset();
    }

    private short initialize(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        byte p1 = buffer[ISO7816.OFFSET_P1];
        if (buffer[ISO7816.OFFSET_P2] != 2 || (p1 != 0 && p1 != 1)) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        receive(apdu, (short) 11);
        if (p1 == 0) {
            checkPin();
            return purse.initialize(Purse.TYPE_LOAD, buffer, ISO7816.OFFSET_CDATA);
        }
        return purse.initialize(Purse.TYPE_PURCHASE, buffer, ISO7816.OFFSET_CDATA);
    }

    // The MAC covers the challenge, the header and the data before it.
    private void secured(APDU apdu, byte ins) {
        byte[] buffer = apdu.getBuffer();
        checkIssued();
        short length = (short) (receive(apdu) - 4);
        if (length < 0) {
            ISOException.throwIt(SW_MAC_MISSING);
        }
        useChallenge();
        maintenanceKey.checkUsable();
        mac.begin(maintenanceKey);
        mac.update(ram, CHALLENGE, CHALLENGE_BYTES);
        mac.update(buffer, (short) 0, (short) (ISO7816.OFFSET_CDATA + length));
        maintenanceKey.verified(mac.matches(buffer, (short) (ISO7816.OFFSET_CDATA + length), (short) 4));
        switch (ins) {
            case INS_UPDATE_LIMIT:
                checkWorking();
                checkLength(length, Amount.SIZE);
                purse.setLimit(buffer, ISO7816.OFFSET_CDATA);
                break;
            case INS_APPLICATION_BLOCK:
                checkLength(length, (short) 0);
                life = BLOCKED;
                purse.forget();
                break;
            case INS_APPLICATION_UNBLOCK:
                checkLength(length, (short) 0);
                life = ISSUED;
                break;
            case INS_CHANGE:
                checkPinReference(buffer);
                checkLength(length, (short) 0);
                pin.resetAndUnblock();
                JCSystem.beginTransaction();
                loadKey.unblock();
                purchaseKey.unblock();
                JCSystem.commitTransaction();
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INS_NOT_SUPPORTED);
        }
    }

    private static short receive(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        short length = (short) (buffer[ISO7816.OFFSET_LC] & 0xFF);
        short got = apdu.setIncomingAndReceive();
        while (got < length) {
            short more = apdu.receiveBytes((short) (ISO7816.OFFSET_CDATA + got));
            if (more == 0) {
                return got;
            }
            got = (short) (got + more);
        }
        return got;
    }

    private static void receive(APDU apdu, short length) {
        if (receive(apdu) != length) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
    }

    private void useChallenge() {
        if (ram[HAS_CHALLENGE] == 0) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        ram[HAS_CHALLENGE] = 0;
    }

    private void checkIssued() {
        if (life == MADE) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
    }

    private void checkWorking() {
        checkIssued();
        if (life == BLOCKED) {
            ISOException.throwIt(SW_APPLICATION_BLOCKED);
        }
    }

    private void checkPin() {
        if (!pin.isValidated()) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
    }

    private static void checkPinReference(byte[] buffer) {
        if (Util.getShort(buffer, ISO7816.OFFSET_P1) != (short) 0x0001) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
    }

    private static void checkTries(OwnerPIN pin) {
        if (pin.getTriesRemaining() == 0) {
            ISOException.throwIt(SW_BLOCKED);
        }
    }

    private static void refusePin(OwnerPIN pin) {
        byte tries = pin.getTriesRemaining();
        ISOException.throwIt(tries == 0 ? SW_BLOCKED : (short) (SW_TRIES_LEFT | tries));
    }

    private static void checkLength(short length, short wanted) {
        if (length != wanted) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
    }

    // A PIN block has 2, the number of digits, the digits, and F up to its end.
    private static void checkPinBlock(byte[] buffer, short offset) {
        byte digits = (byte) (buffer[offset] & 0x0F);
        boolean right = (byte) (buffer[offset] & 0xF0) == (byte) 0x20 && digits >= 4 && digits <= 12;
        for (byte i = 0; i < 14; i++) {
            byte pair = buffer[(short) (offset + (short) (1 + (i >> 1)))];
            byte digit = (i & 1) == 0 ? (byte) ((pair >> 4) & 0x0F) : (byte) (pair & 0x0F);
            if (i < digits ? digit > 9 : digit != (byte) 0x0F) {
                right = false;
            }
        }
        if (!right) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }
}

package cards.oath;

import cards.lib.TlvReader;
import cards.lib.TlvWriter;
import javacard.framework.APDU;
import javacard.framework.Applet;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.MessageDigest;
import javacard.security.RandomData;

/**
 * A token for one-time passwords by counter (HOTP, RFC 4226) and by time (TOTP, RFC 6238), with
 * the YKOATH protocol. It keeps up to 16 credentials. The applet itself computes HMAC, over the
 * card's message digests, because cards need not have HMAC. If the install parameter is 1, it
 * computes SHA-1, too.
 *
 * <pre>
 * CLA INS P1 P2  command         data                                answer
 * 00  A4  04 00  SELECT          AID                                 79 version, 71 id, 74 challenge, 7B
 * 00  01  00 00  PUT             71 name, 73 type digits key,
 *                                78 properties, 7A first factor
 * 00  02  00 00  DELETE          71 name
 * 00  03  00 00  SET CODE        73 type key, 74 challenge, 75 MAC; an empty 73 unsets it
 * 00  04  DE AD  RESET
 * 00  A1  00 00  LIST                                                72 type name, for each
 * 00  A2  00 0t  CALCULATE       71 name, 74 challenge               75 MAC, or 76 digits code
 * 00  A3  00 00  VALIDATE        75 MAC, 74 challenge                75 MAC
 * 00  A4  00 0t  CALCULATE ALL   74 challenge                        71 name, 75 | 76 | 77, for each
 * 00  A5  00 00  SEND REMAINING                                      the bytes that 61xx announced
 * </pre>
 */
public final class OathApplet extends Applet {
    private static final byte INS_PUT = (byte) 0x01;
    private static final byte INS_DELETE = (byte) 0x02;
    private static final byte INS_SET_CODE = (byte) 0x03;
    private static final byte INS_RESET = (byte) 0x04;
    private static final byte INS_LIST = (byte) 0xA1;
    private static final byte INS_CALCULATE = (byte) 0xA2;
    private static final byte INS_VALIDATE = (byte) 0xA3;
    private static final byte INS_CALCULATE_ALL = (byte) 0xA4;
    private static final byte INS_SEND_REMAINING = (byte) 0xA5;

    private static final short TAG_NAME = (short) 0x71;
    private static final short TAG_LISTED = (short) 0x72;
    private static final short TAG_KEY = (short) 0x73;
    private static final short TAG_CHALLENGE = (short) 0x74;
    private static final short TAG_RESPONSE = (short) 0x75;
    private static final short TAG_CODE = (short) 0x76;
    private static final short TAG_NO_RESPONSE = (short) 0x77;
    private static final short TAG_PROPERTIES = (short) 0x78;
    private static final short TAG_VERSION = (short) 0x79;
    private static final short TAG_FACTOR = (short) 0x7A;
    private static final short TAG_ALGORITHM = (short) 0x7B;

    private static final short SW_NO_SUCH_OBJECT = (short) 0x6984;

    private static final byte CREDENTIALS = 16;
    private static final short ID_BYTES = 8;
    private static final short CHALLENGE_BYTES = 8;
    private static final short LEAST_KEY = 14;
    private static final short MOST_KEY = 64;
    private static final short CHUNK = 256;
    private static final short ANSWER_BYTES = 1408;
    private static final short SCRATCH_BYTES = 64;

    // Indices of shorts in RAM: offset and length of the rest of an answer.
    private static final short NEXT = 0;
    private static final short END = 1;

    private static final byte[] VERSION = {1, 0, 0};

    private final Credential[] credentials;
    private final Credential code;
    private final MessageDigest sha1;
    private final MessageDigest sha256;
    private final Hmac hmac;
    private final RandomData random;
    private final TlvReader tlv;
    private final byte[] id;
    private final byte[] answer;
    private final short[] rest;
    private final byte[] challenge;
    private final byte[] scratch;
    private final boolean[] unlocked;

    private OathApplet(boolean soft) {
        credentials = new Credential[CREDENTIALS];
        code = new Credential();
        sha1 = soft ? new SoftSha1() : MessageDigest.getInstance(MessageDigest.ALG_SHA, false);
        sha256 = MessageDigest.getInstance(MessageDigest.ALG_SHA_256, false);
        hmac = new Hmac();
        random = RandomData.getInstance(RandomData.ALG_SECURE_RANDOM);
        tlv = new TlvReader();
        id = new byte[ID_BYTES];
        answer = JCSystem.makeTransientByteArray(ANSWER_BYTES, JCSystem.CLEAR_ON_DESELECT);
        rest = JCSystem.makeTransientShortArray((short) 2, JCSystem.CLEAR_ON_DESELECT);
        challenge = JCSystem.makeTransientByteArray(CHALLENGE_BYTES, JCSystem.CLEAR_ON_DESELECT);
        scratch = JCSystem.makeTransientByteArray(SCRATCH_BYTES, JCSystem.CLEAR_ON_DESELECT);
        unlocked = JCSystem.makeTransientBooleanArray((short) 1, JCSystem.CLEAR_ON_DESELECT);
        random.generateData(id, (short) 0, ID_BYTES);
    }

    /**
     * Makes the applet.
     *
     * @param parameters lengths and bytes of the AID, of control data and of the parameter: one
     *     byte, 1 if SHA-1 is to be done in the applet
     */
    public static void install(byte[] parameters, short offset, byte length) {
        short at = offset;
        byte aidLength = parameters[at];
        short aid = (short) (at + 1);
        at = (short) (aid + aidLength);
        at = (short) (at + parameters[at] + 1);
        boolean soft = parameters[at] == (byte) 1 && parameters[(short) (at + 1)] == (byte) 1;
        OathApplet applet = new OathApplet(soft);
        applet.register(parameters, aid, aidLength);
    }

    @Override
    public void process(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (selectingApplet()) {
            sendSelected(apdu);
            return;
        }
        if (buffer[ISO7816.OFFSET_CLA] != 0) {
            ISOException.throwIt(ISO7816.SW_CLA_NOT_SUPPORTED);
        }
        byte ins = buffer[ISO7816.OFFSET_INS];
        if (ins == INS_SEND_REMAINING) {
            sendRest(apdu);
            return;
        }
        rest[NEXT] = 0;
        rest[END] = 0;
        if (!unlocked[0] && code.isUsed() && ins != INS_VALIDATE && ins != INS_RESET) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
        short length = receive(apdu);
        tlv.begin(ISO7816.OFFSET_CDATA, length);
        switch (ins) {
            case INS_PUT:
                checkParameters(buffer, (short) 0);
                put(buffer);
                return;
            case INS_DELETE:
                checkParameters(buffer, (short) 0);
                tlv.expect(buffer, TAG_NAME, (short) 1, Credential.NAME_BYTES);
                named(buffer).delete();
                return;
            case INS_SET_CODE:
                checkParameters(buffer, (short) 0);
                setCode(buffer);
                return;
            case INS_RESET:
                checkParameters(buffer, (short) 0xDEAD);
                resetAll();
                return;
            case INS_LIST:
                checkParameters(buffer, (short) 0);
                rest[END] = list();
                break;
            case INS_CALCULATE:
                rest[END] = calculate(buffer, isTruncating(buffer));
                break;
            case INS_VALIDATE:
                checkParameters(buffer, (short) 0);
                rest[END] = validate(buffer);
                break;
            case INS_CALCULATE_ALL:
                rest[END] = calculateAll(buffer, isTruncating(buffer));
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INS_NOT_SUPPORTED);
        }
        sendRest(apdu);
    }

    private void sendSelected(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        short at = TlvWriter.object(buffer, (short) 0, TAG_VERSION, VERSION, (short) 0, (short) VERSION.length);
        at = TlvWriter.object(buffer, at, TAG_NAME, id, (short) 0, ID_BYTES);
        unlocked[0] = false;
        if (code.isUsed()) {
            random.generateData(challenge, (short) 0, CHALLENGE_BYTES);
            at = TlvWriter.object(buffer, at, TAG_CHALLENGE, challenge, (short) 0, CHALLENGE_BYTES);
            at = TlvWriter.objectByte(buffer, at, TAG_ALGORITHM, code.algorithm());
        }
        apdu.setOutgoingAndSend((short) 0, at);
    }

    private void put(byte[] buffer) {
        tlv.expect(buffer, TAG_NAME, (short) 1, Credential.NAME_BYTES);
        short name = tlv.value();
        short nameLength = tlv.length();
        tlv.expect(buffer, TAG_KEY, (short) (2 + 1), (short) (2 + MOST_KEY));
        short key = tlv.value();
        short keyLength = (short) (tlv.length() - 2);
        byte type = buffer[key];
        byte digits = buffer[(short) (key + 1)];
        checkType(type);
        if (digits < (byte) 6 || digits > (byte) 8) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        byte properties = 0;
        short factor = 0;
        short factorLength = 0;
        while (tlv.next(buffer)) {
            switch (tlv.tag()) {
                case TAG_PROPERTIES:
                    if (tlv.length() != 1) {
                        ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                    }
                    properties = buffer[tlv.value()];
                    break;
                case TAG_FACTOR:
                    if (tlv.length() != 4 || (byte) (type & 0xF0) != Credential.HOTP) {
                        ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                    }
                    factor = tlv.value();
                    factorLength = 4;
                    break;
                default:
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
        }
        Credential credential = find(buffer, name, nameLength);
        if (credential == null) {
            credential = free();
        }
        // A short key is padded with zeros, as HMAC requires.
        Util.arrayFillNonAtomic(scratch, (short) 0, SCRATCH_BYTES, (byte) 0);
        Util.arrayCopyNonAtomic(buffer, (short) (key + 2), scratch, (short) 0, keyLength);
        if (keyLength < LEAST_KEY) {
            keyLength = LEAST_KEY;
        }
        JCSystem.beginTransaction();
        credential.setName(buffer, name, nameLength);
        credential.setKey(type, digits, scratch, (short) 0, keyLength);
        credential.setProperties(properties);
        credential.setFactor(buffer, factor, factorLength);
        JCSystem.commitTransaction();
        Util.arrayFillNonAtomic(scratch, (short) 0, SCRATCH_BYTES, (byte) 0);
    }

    private void setCode(byte[] buffer) {
        tlv.expect(buffer, TAG_KEY, (short) 0, (short) (1 + MOST_KEY));
        short key = tlv.value();
        short keyLength = (short) (tlv.length() - 1);
        if (keyLength < 0) {
            code.delete();
            return;
        }
        if (keyLength < LEAST_KEY) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        byte type = buffer[key];
        checkType(type);
        tlv.expect(buffer, TAG_CHALLENGE, (short) 1, Hmac.BLOCK);
        short bytes = hmac.mac(digest(type), buffer, (short) (key + 1), keyLength,
                buffer, tlv.value(), tlv.length(), scratch, (short) 0);
        tlv.expect(buffer, TAG_RESPONSE, bytes, bytes);
        if (Util.arrayCompare(scratch, (short) 0, buffer, tlv.value(), bytes) != 0) {
            ISOException.throwIt(SW_NO_SUCH_OBJECT);
        }
        JCSystem.beginTransaction();
        code.setName(buffer, key, (short) 0);
        code.setKey(type, (byte) 0, buffer, (short) (key + 1), keyLength);
        JCSystem.commitTransaction();
        unlocked[0] = true;
    }

    private short validate(byte[] buffer) {
        if (!code.isUsed()) {
            ISOException.throwIt(SW_NO_SUCH_OBJECT);
        }
        short bytes = hmac.mac(digest(code.type()), code.key(), (short) 0, code.keyLength(),
                challenge, (short) 0, CHALLENGE_BYTES, scratch, (short) 0);
        tlv.expect(buffer, TAG_RESPONSE, bytes, bytes);
        boolean right = Util.arrayCompare(scratch, (short) 0, buffer, tlv.value(), bytes) == 0;
        random.generateData(challenge, (short) 0, CHALLENGE_BYTES);
        if (!right) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        tlv.expect(buffer, TAG_CHALLENGE, (short) 1, Hmac.BLOCK);
        unlocked[0] = true;
        bytes = hmac.mac(digest(code.type()), code.key(), (short) 0, code.keyLength(),
                buffer, tlv.value(), tlv.length(), scratch, (short) 0);
        return TlvWriter.object(answer, (short) 0, TAG_RESPONSE, scratch, (short) 0, bytes);
    }

    private void resetAll() {
        for (byte i = 0; i < CREDENTIALS; i++) {
            if (credentials[i] != null && credentials[i].isUsed()) {
                credentials[i].delete();
            }
        }
        code.delete();
        random.generateData(id, (short) 0, ID_BYTES);
    }

    private short list() {
        short at = 0;
        for (byte i = 0; i < CREDENTIALS; i++) {
            Credential credential = credentials[i];
            if (credential != null && credential.isUsed()) {
                at = TlvWriter.head(answer, at, TAG_LISTED, (short) (1 + credential.nameLength()));
                answer[at++] = credential.type();
                at = credential.copyName(answer, at);
            }
        }
        return at;
    }

    private short calculate(byte[] buffer, boolean truncate) {
        tlv.expect(buffer, TAG_NAME, (short) 1, Credential.NAME_BYTES);
        Credential credential = named(buffer);
        if (credential.counts()) {
            short bytes = hmac.mac(digest(credential.type()), credential.key(), (short) 0, credential.keyLength(),
                    credential.factor(), (short) 0, Credential.COUNTER_BYTES, scratch, (short) 0);
            credential.step();
            return respond(credential, bytes, truncate, (short) 0);
        }
        tlv.expect(buffer, TAG_CHALLENGE, (short) 1, Hmac.BLOCK);
        return respond(credential, buffer, truncate, (short) 0);
    }

    private short calculateAll(byte[] buffer, boolean truncate) {
        tlv.expect(buffer, TAG_CHALLENGE, (short) 1, Hmac.BLOCK);
        short at = 0;
        for (byte i = 0; i < CREDENTIALS; i++) {
            Credential credential = credentials[i];
            if (credential == null || !credential.isUsed()) {
                continue;
            }
            at = TlvWriter.head(answer, at, TAG_NAME, credential.nameLength());
            at = credential.copyName(answer, at);
            if (credential.counts()) {
                at = TlvWriter.objectByte(answer, at, TAG_NO_RESPONSE, credential.digits());
            } else {
                at = respond(credential, buffer, truncate, at);
            }
        }
        return at;
    }

    // Computes the code for the challenge that is the reader's current object.
    private short respond(Credential credential, byte[] buffer, boolean truncate, short at) {
        if (!credential.accepts(buffer, tlv.value(), tlv.length())) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        short bytes = hmac.mac(digest(credential.type()), credential.key(), (short) 0, credential.keyLength(),
                buffer, tlv.value(), tlv.length(), scratch, (short) 0);
        return respond(credential, bytes, truncate, at);
    }

    private short respond(Credential credential, short bytes, boolean truncate, short at) {
        if (!truncate) {
            at = TlvWriter.head(answer, at, TAG_RESPONSE, (short) (bytes + 1));
            answer[at++] = credential.digits();
            return Util.arrayCopyNonAtomic(scratch, (short) 0, answer, at, bytes);
        }
        short offset = (short) (scratch[(short) (bytes - 1)] & 0x0F);
        at = TlvWriter.head(answer, at, TAG_CODE, (short) 5);
        answer[at++] = credential.digits();
        answer[at] = (byte) (scratch[offset] & 0x7F);
        return Util.arrayCopyNonAtomic(scratch, (short) (offset + 1), answer, (short) (at + 1), (short) 3);
    }

    // Sends the rest of the answer, and 61xx if more remains.
    private void sendRest(APDU apdu) {
        short left = (short) (rest[END] - rest[NEXT]);
        if (left == 0) {
            return;
        }
        short part = left > CHUNK ? CHUNK : left;
        apdu.setOutgoing();
        apdu.setOutgoingLength(part);
        apdu.sendBytesLong(answer, rest[NEXT], part);
        rest[NEXT] = (short) (rest[NEXT] + part);
        left = (short) (left - part);
        if (left > 0) {
            ISOException.throwIt((short) (ISO7816.SW_BYTES_REMAINING_00 | (left > (short) 0xFF ? (short) 0 : left)));
        }
    }

    private Credential find(byte[] buffer, short offset, short length) {
        for (byte i = 0; i < CREDENTIALS; i++) {
            Credential credential = credentials[i];
            if (credential != null && credential.isNamed(buffer, offset, length)) {
                return credential;
            }
        }
        return null;
    }

    // Returns the credential whose name is the reader's current object.
    private Credential named(byte[] buffer) {
        Credential credential = find(buffer, tlv.value(), tlv.length());
        if (credential == null) {
            ISOException.throwIt(SW_NO_SUCH_OBJECT);
        }
        return credential;
    }

    // Reuses the object of a deleted credential, because there is no garbage collection.
    private Credential free() {
        for (byte i = 0; i < CREDENTIALS; i++) {
            if (credentials[i] == null) {
                credentials[i] = new Credential();
                return credentials[i];
            }
            if (!credentials[i].isUsed()) {
                return credentials[i];
            }
        }
        ISOException.throwIt(ISO7816.SW_FILE_FULL);
        return null;
    }

    private MessageDigest digest(byte type) {
        return (byte) (type & 0x0F) == Credential.SHA1 ? sha1 : sha256;
    }

    private static void checkType(byte type) {
        byte algorithm = (byte) (type & 0x0F);
        byte kind = (byte) (type & 0xF0);
        if ((algorithm != Credential.SHA1 && algorithm != Credential.SHA256)
                || (kind != Credential.HOTP && kind != Credential.TOTP)) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }

    private static boolean isTruncating(byte[] buffer) {
        short parameters = Util.getShort(buffer, ISO7816.OFFSET_P1);
        if (parameters != 0 && parameters != 1) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        return parameters == 1;
    }

    private static void checkParameters(byte[] buffer, short wanted) {
        if (Util.getShort(buffer, ISO7816.OFFSET_P1) != wanted) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
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
}

package cards.pki;

import cards.lib.TlvReader;
import javacard.framework.APDU;
import javacard.framework.Applet;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.MessageDigest;
import javacard.security.RandomData;

/**
 * A card for keys and certificates. It has a file system of ISO 7816-4 with access rules, PINs,
 * and RSA keys of 2048 bits to sign, decipher and authenticate. Commands may be chained (CLA 10),
 * up to 1024 bytes; longer answers are fetched with GET RESPONSE.
 *
 * <pre>
 * INS P1 P2     command             data
 * A4  00        SELECT              file identifier, or none for the MF
 * A4  01 02     SELECT              a folder in, a file in the current folder
 * A4  03        SELECT              the folder above
 * A4  04        SELECT              a folder's name
 * A4  08 09     SELECT              a path from the MF, from the current folder
 *        00 04 0C                   answers FCI, FCP or nothing
 * B0 D6 0E      READ, UPDATE, ERASE BINARY   offset, or 80|short identifier and offset
 * B2 DC E2 A2   READ, UPDATE, APPEND, SEARCH RECORD
 * E0  00 00     CREATE FILE         62 { 82 83 80 84 88 8C }
 * E4  00 00     DELETE FILE         identifier
 * 04 44         DEACTIVATE, ACTIVATE FILE    the current one
 * 20  00 8x     VERIFY              PIN; without data: asks; P1 FF: forgets
 * 24  00|01 8x  CHANGE              old and new PIN, or the new one under the issuer's
 * 2C  00 81     RESET RETRY COUNTER PUK and new PIN
 * 22  41 xx     MSE SET             B6 signature, B8 decipherment, A4 authentication: 80 84
 * 2A  90 A0     PSO HASH            80 part of the message
 * 2A  9E 9A     PSO SIGN            digest, DigestInfo, or nothing after PSO HASH
 * 2A  80 86     PSO DECIPHER        00 and the cryptogram
 * 88  00 00     INTERNAL AUTHENTICATE        challenge
 * 84  00 00     GET CHALLENGE
 * DB  3F FF     PUT DATA            70 { 84 reference, 95 usage, 7F48, 7F49 }, a key
 * CB  3F FF     GET DATA            84 reference: 7F49, the public key
 * C0  00 00     GET RESPONSE
 * </pre>
 */
public final class PkiApplet extends Applet {
    static final short SW_TRIES_LEFT = (short) 0x63C0;
    static final short SW_BLOCKED = (short) 0x6983;
    static final short SW_DEACTIVATED = (short) 0x6283;
    static final short SW_NOT_THERE = (short) 0x6A88;
    static final short SW_FILE_EXISTS = (short) 0x6A89;
    private static final short SW_NO_CURRENT_EF = (short) 0x6986;
    private static final short SW_INCOMPATIBLE = (short) 0x6981;
    private static final short SW_LAST_COMMAND_EXPECTED = (short) 0x6883;

    private static final byte INS_DEACTIVATE = (byte) 0x04;
    private static final byte INS_ERASE_BINARY = (byte) 0x0E;
    private static final byte INS_VERIFY = (byte) 0x20;
    private static final byte INS_MSE = (byte) 0x22;
    private static final byte INS_CHANGE = (byte) 0x24;
    private static final byte INS_PSO = (byte) 0x2A;
    private static final byte INS_RESET_RETRY = (byte) 0x2C;
    private static final byte INS_ACTIVATE = (byte) 0x44;
    private static final byte INS_CHALLENGE = (byte) 0x84;
    private static final byte INS_INTERNAL_AUTHENTICATE = (byte) 0x88;
    private static final byte INS_SEARCH_RECORD = (byte) 0xA2;
    private static final byte INS_SELECT = (byte) 0xA4;
    private static final byte INS_READ_BINARY = (byte) 0xB0;
    private static final byte INS_READ_RECORD = (byte) 0xB2;
    private static final byte INS_GET_RESPONSE = (byte) 0xC0;
    private static final byte INS_GET_DATA = (byte) 0xCB;
    private static final byte INS_UPDATE_BINARY = (byte) 0xD6;
    private static final byte INS_PUT_DATA = (byte) 0xDB;
    private static final byte INS_UPDATE_RECORD = (byte) 0xDC;
    private static final byte INS_CREATE = (byte) 0xE0;
    private static final byte INS_APPEND_RECORD = (byte) 0xE2;
    private static final byte INS_DELETE = (byte) 0xE4;

    private static final byte CLA_CHAINED = (byte) 0x10;

    private static final short MASTER_ID = (short) 0x3F00;
    private static final short RAM_BYTES = 1024;
    private static final short CHUNK = 256;
    private static final byte KEYS = 4;
    private static final short CRYPTOGRAM_BYTES = (short) (KeyObject.MODULUS_BYTES + 1);

    // Indices of objects in RAM: the selected files.
    private static final byte FOLDER = 0;
    private static final byte FILE = 1;

    // Indices of shorts in RAM.
    private static final byte RECORD = 0;
    private static final byte CHAIN_LENGTH = 1;
    private static final byte CHAIN_HEADER = 2;
    private static final byte CHAIN_PARAMETERS = 3;
    private static final byte REST_AT = 4;
    private static final byte REST_END = 5;
    private static final byte SIGN_KEY = 6;
    private static final byte SIGN_ALGORITHM = 7;
    private static final byte DECIPHER_KEY = 8;
    private static final byte AUTHENTICATE_KEY = 9;
    private static final byte HASHED = 10;
    private static final byte STATE_SHORTS = 11;

    private final Folder master;
    private final Access access;
    private final KeyObject[] keys;
    private final Pkcs1 pkcs1;
    private final MessageDigest sha256;
    private final RandomData random;
    private final TlvReader outer;
    private final TlvReader inner;
    private final Object[] current;
    private final short[] state;
    private final byte[] ram;
    private final byte[] digest;

    private PkiApplet(byte[] parameters, short offset, byte length) {
        if (length != Access.PIN_BYTES) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        access = new Access(parameters, offset);
        master = new Folder(MASTER_ID, parameters, (short) 0, (short) 0);
        keys = new KeyObject[KEYS];
        pkcs1 = new Pkcs1();
        sha256 = MessageDigest.getInstance(MessageDigest.ALG_SHA_256, false);
        random = RandomData.getInstance(RandomData.ALG_SECURE_RANDOM);
        outer = new TlvReader();
        inner = new TlvReader();
        current = JCSystem.makeTransientObjectArray((short) 2, JCSystem.CLEAR_ON_DESELECT);
        state = JCSystem.makeTransientShortArray(STATE_SHORTS, JCSystem.CLEAR_ON_DESELECT);
        ram = JCSystem.makeTransientByteArray(RAM_BYTES, JCSystem.CLEAR_ON_DESELECT);
        digest = JCSystem.makeTransientByteArray((short) 32, JCSystem.CLEAR_ON_DESELECT);
    }

    /**
     * Makes the applet.
     *
     * @param parameters lengths and bytes of the AID, of control data and of the issuer's PIN
     */
    public static void install(byte[] parameters, short offset, byte length) {
        short at = offset;
        byte aidLength = parameters[at];
        short aid = (short) (at + 1);
        at = (short) (aid + aidLength);
        at = (short) (at + parameters[at] + 1);
        PkiApplet applet = new PkiApplet(parameters, (short) (at + 1), parameters[at]);
        applet.register(parameters, aid, aidLength);
    }

    @Override
    public boolean select() {
        current[FOLDER] = master;
        current[FILE] = null;
        return true;
    }

    @Override
    public void deselect() {
        access.forgetAll();
    }

    @Override
    public void process(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        if (selectingApplet()) {
            respond(apdu, master.describe(ram, (short) 0, FileNode.TEMPLATE_FCI));
            return;
        }
        byte cla = buffer[ISO7816.OFFSET_CLA];
        byte ins = buffer[ISO7816.OFFSET_INS];
        if ((byte) (cla & ~CLA_CHAINED) != 0) {
            ISOException.throwIt(ISO7816.SW_CLA_NOT_SUPPORTED);
        }
        if (ins == INS_GET_RESPONSE) {
            sendRest(apdu);
            return;
        }
        state[REST_AT] = 0;
        state[REST_END] = 0;
        short length = receive(apdu);
        if (cla == CLA_CHAINED) {
            chain(buffer, length);
            return;
        }
        byte[] data = buffer;
        short offset = ISO7816.OFFSET_CDATA;
        if (state[CHAIN_LENGTH] != 0) {
            chain(buffer, length);
            data = ram;
            offset = 0;
            length = state[CHAIN_LENGTH];
            state[CHAIN_LENGTH] = 0;
        }
        dispatch(apdu, ins, data, offset, length);
    }

    private void dispatch(APDU apdu, byte ins, byte[] data, short offset, short length) {
        byte[] buffer = apdu.getBuffer();
        short parameters = Util.getShort(buffer, ISO7816.OFFSET_P1);
        switch (ins) {
            case INS_SELECT:
                selectFile(apdu, data, offset, length);
                break;
            case INS_READ_BINARY:
                readBinary(apdu, parameters);
                break;
            case INS_UPDATE_BINARY:
                updateBinary(parameters, data, offset, length);
                break;
            case INS_ERASE_BINARY:
                eraseBinary(parameters, data, offset, length);
                break;
            case INS_READ_RECORD:
                readRecord(apdu);
                break;
            case INS_UPDATE_RECORD:
                updateRecord(buffer, data, offset, length);
                break;
            case INS_APPEND_RECORD:
                recordFile(buffer, FileNode.MAY_APPEND).append(data, offset, length);
                state[RECORD] = 0;
                break;
            case INS_SEARCH_RECORD:
                searchRecord(apdu, data, offset, length);
                break;
            case INS_CREATE:
                createFile(data, offset, length);
                break;
            case INS_DELETE:
                deleteFile(data, offset, length);
                break;
            case INS_ACTIVATE:
                activate(true);
                break;
            case INS_DEACTIVATE:
                activate(false);
                break;
            case INS_VERIFY:
                verify(buffer, data, offset, length);
                break;
            case INS_CHANGE:
                change(buffer, data, offset, length);
                break;
            case INS_RESET_RETRY:
                resetRetry(parameters, data, offset, length);
                break;
            case INS_MSE:
                setEnvironment(buffer, data, offset, length);
                break;
            case INS_PSO:
                performSecurityOperation(apdu, parameters, data, offset, length);
                break;
            case INS_INTERNAL_AUTHENTICATE:
                authenticate(apdu, data, offset, length);
                break;
            case INS_CHALLENGE:
                challenge(apdu);
                break;
            case INS_PUT_DATA:
                putKey(parameters, data, offset, length);
                break;
            case INS_GET_DATA:
                getKey(apdu, parameters, data, offset, length);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INS_NOT_SUPPORTED);
        }
    }

    // ---- commands and answers

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

    // Adds a part of a chained command; all parts must have the same header.
    private void chain(byte[] buffer, short length) {
        short header = (short) (buffer[ISO7816.OFFSET_INS] & 0xFF);
        short parameters = Util.getShort(buffer, ISO7816.OFFSET_P1);
        short had = state[CHAIN_LENGTH];
        if (had == 0) {
            state[CHAIN_HEADER] = header;
            state[CHAIN_PARAMETERS] = parameters;
        } else if (state[CHAIN_HEADER] != header || state[CHAIN_PARAMETERS] != parameters) {
            state[CHAIN_LENGTH] = 0;
            ISOException.throwIt(SW_LAST_COMMAND_EXPECTED);
        }
        if (length > (short) (RAM_BYTES - had)) {
            state[CHAIN_LENGTH] = 0;
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        Util.arrayCopyNonAtomic(buffer, ISO7816.OFFSET_CDATA, ram, had, length);
        state[CHAIN_LENGTH] = (short) (had + length);
    }

    // Sends as much of the buffer in RAM as fits into an answer.
    private void respond(APDU apdu, short length) {
        state[REST_AT] = 0;
        state[REST_END] = length;
        sendRest(apdu);
    }

    private void sendRest(APDU apdu) {
        short left = (short) (state[REST_END] - state[REST_AT]);
        if (left == 0) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        short part = left > CHUNK ? CHUNK : left;
        apdu.setOutgoing();
        apdu.setOutgoingLength(part);
        apdu.sendBytesLong(ram, state[REST_AT], part);
        state[REST_AT] = (short) (state[REST_AT] + part);
        left = (short) (left - part);
        if (left > 0) {
            ISOException.throwIt((short) (ISO7816.SW_BYTES_REMAINING_00 | (left > (short) 0xFF ? (short) 0 : left)));
        }
    }

    // ---- files

    private void selectFile(APDU apdu, byte[] data, short offset, short length) {
        byte[] buffer = apdu.getBuffer();
        byte answer = buffer[ISO7816.OFFSET_P2];
        FileNode found = null;
        Folder folder = (Folder) current[FOLDER];
        switch (buffer[ISO7816.OFFSET_P1]) {
            case 0x00:
                found = selectById(data, offset, length);
                break;
            case 0x01:
            case 0x02:
                checkLength(length, (short) 2);
                found = folder.child(Util.getShort(data, offset));
                if (found != null && found.isFolder() != (buffer[ISO7816.OFFSET_P1] == 1)) {
                    found = null;
                }
                break;
            case 0x03:
                checkLength(length, (short) 0);
                found = folder.parent();
                break;
            case 0x04:
                found = master.named(data, offset, length);
                break;
            case 0x08:
                found = walk(master, data, offset, length);
                break;
            case 0x09:
                found = walk(folder, data, offset, length);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        if (found == null) {
            ISOException.throwIt(ISO7816.SW_FILE_NOT_FOUND);
        }
        if (found.isFolder()) {
            current[FOLDER] = found;
            current[FILE] = null;
        } else {
            current[FOLDER] = found.parent();
            current[FILE] = found;
        }
        state[RECORD] = 0;
        switch (answer) {
            case 0x00:
                respond(apdu, found.describe(ram, (short) 0, FileNode.TEMPLATE_FCI));
                break;
            case 0x04:
                respond(apdu, found.describe(ram, (short) 0, FileNode.TEMPLATE_FCP));
                break;
            case 0x0C:
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        if (!found.isActive()) {
            ISOException.throwIt(SW_DEACTIVATED);
        }
    }

    // Searches the current folder, the folder itself, the one above and its children, and the MF.
    private FileNode selectById(byte[] data, short offset, short length) {
        if (length == 0) {
            return master;
        }
        checkLength(length, (short) 2);
        short id = Util.getShort(data, offset);
        if (id == MASTER_ID) {
            return master;
        }
        Folder folder = (Folder) current[FOLDER];
        if (folder.id() == id) {
            return folder;
        }
        FileNode found = folder.child(id);
        Folder above = folder.parent();
        if (found == null && above != null) {
            found = above.id() == id ? above : above.child(id);
        }
        return found;
    }

    private FileNode walk(Folder from, byte[] data, short offset, short length) {
        if (length == 0 || (short) (length & 1) != 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        FileNode at = from;
        short end = (short) (offset + length);
        for (; offset < end; offset = (short) (offset + 2)) {
            if (!at.isFolder()) {
                return null;
            }
            at = ((Folder) at).child(Util.getShort(data, offset));
            if (at == null) {
                return null;
            }
        }
        return at;
    }

    private void check(FileNode file, byte mode) {
        if (!access.allows(file.access(mode))) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
    }

    private void checkActive(FileNode file) {
        if (!file.isActive()) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
    }

    // Returns the file with this short identifier in the current folder, or if it is 0, the current file.
    private FileNode elementary(byte shortId, byte mode) {
        if (shortId != 0) {
            FileNode found = ((Folder) current[FOLDER]).childByShortId(shortId);
            if (found == null) {
                ISOException.throwIt(ISO7816.SW_FILE_NOT_FOUND);
            }
            current[FILE] = found;
            state[RECORD] = 0;
        }
        FileNode file = (FileNode) current[FILE];
        if (file == null) {
            ISOException.throwIt(SW_NO_CURRENT_EF);
        }
        check(file, mode);
        checkActive(file);
        return file;
    }

    private TransparentFile transparentFile(short parameters, byte mode) {
        byte shortId = parameters < 0 ? (byte) ((parameters >> 8) & 0x1F) : (byte) 0;
        FileNode file = elementary(shortId, mode);
        if (file.type() != FileNode.TYPE_TRANSPARENT) {
            ISOException.throwIt(SW_INCOMPATIBLE);
        }
        return (TransparentFile) file;
    }

    private static short offsetOf(short parameters) {
        return parameters < 0 ? (short) (parameters & 0xFF) : parameters;
    }

    private void readBinary(APDU apdu, short parameters) {
        TransparentFile file = transparentFile(parameters, FileNode.MAY_READ);
        short offset = offsetOf(parameters);
        file.checkOffset(offset);
        short wanted = apdu.setOutgoing();
        short left = (short) (file.size() - offset);
        if (wanted > left) {
            if (wanted != CHUNK) {
                ISOException.throwIt(left < CHUNK ? (short) (ISO7816.SW_CORRECT_LENGTH_00 | left)
                        : ISO7816.SW_WRONG_LENGTH);
            }
            wanted = left;
        }
        apdu.setOutgoingLength(wanted);
        apdu.sendBytesLong(file.data(), offset, wanted);
    }

    private void updateBinary(short parameters, byte[] data, short offset, short length) {
        TransparentFile file = transparentFile(parameters, FileNode.MAY_UPDATE);
        if (length == 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        file.update(offsetOf(parameters), data, offset, length);
    }

    private void eraseBinary(short parameters, byte[] data, short offset, short length) {
        TransparentFile file = transparentFile(parameters, FileNode.MAY_UPDATE);
        short from = offsetOf(parameters);
        short to = file.size();
        file.checkOffset(from);
        if (length != 0) {
            checkLength(length, (short) 2);
            to = Util.getShort(data, offset);
            if (to <= from || to > file.size()) {
                ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
        }
        file.erase(from, to);
    }

    private RecordFile recordFile(byte[] buffer, byte mode) {
        FileNode file = elementary((byte) ((buffer[ISO7816.OFFSET_P2] >> 3) & 0x1F), mode);
        if (file.type() == FileNode.TYPE_TRANSPARENT) {
            ISOException.throwIt(SW_INCOMPATIBLE);
        }
        return (RecordFile) file;
    }

    // Returns the record of P1 and P2, by number or relative to the current one, and makes it current.
    private short recordNumber(byte[] buffer, RecordFile file) {
        short number = (short) (buffer[ISO7816.OFFSET_P1] & 0xFF);
        short last = state[RECORD];
        switch ((byte) (buffer[ISO7816.OFFSET_P2] & 0x07)) {
            case 0x00:
                number = 1;
                break;
            case 0x01:
                number = file.used();
                break;
            case 0x02:
                number = (short) (last + 1);
                break;
            case 0x03:
                number = last == 0 ? file.used() : (short) (last - 1);
                break;
            case 0x04:
                if (number == 0) {
                    number = last;
                }
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        file.slot(number);
        state[RECORD] = number;
        return number;
    }

    private void readRecord(APDU apdu) {
        byte[] buffer = apdu.getBuffer();
        RecordFile file = recordFile(buffer, FileNode.MAY_READ);
        short number = recordNumber(buffer, file);
        short length = file.length(number);
        apdu.setOutgoing();
        apdu.setOutgoingLength(length);
        apdu.sendBytesLong(file.data(), (short) (file.slot(number) + 1), length);
    }

    private void updateRecord(byte[] buffer, byte[] data, short offset, short length) {
        RecordFile file = recordFile(buffer, FileNode.MAY_UPDATE);
        file.update(recordNumber(buffer, file), data, offset, length);
    }

    // Answers with the numbers of the records that contain the bytes.
    private void searchRecord(APDU apdu, byte[] data, short offset, short length) {
        byte[] buffer = apdu.getBuffer();
        RecordFile file = recordFile(buffer, FileNode.MAY_READ);
        if (length == 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        short number = (short) (buffer[ISO7816.OFFSET_P1] & 0xFF);
        if (number == 0) {
            number = 1;
        }
        short end = 0;
        number = file.search(number, data, offset, length);
        while (number != 0) {
            ram[end++] = (byte) number;
            number = file.search((short) (number + 1), data, offset, length);
        }
        if (end == 0) {
            ISOException.throwIt(ISO7816.SW_RECORD_NOT_FOUND);
        }
        state[RECORD] = (short) (ram[0] & 0xFF);
        respond(apdu, end);
    }

    private void createFile(byte[] data, short offset, short length) {
        Folder folder = (Folder) current[FOLDER];
        outer.begin(offset, length);
        outer.expect(data, FileNode.TEMPLATE_FCP, (short) 1, length);
        inner.enter(outer);
        boolean isFolder = inner.find(data, FileNode.TAG_DESCRIPTOR) && inner.length() == 1
                && data[inner.value()] == FileNode.TYPE_FOLDER;
        check(folder, isFolder ? FileNode.MAY_CREATE_FOLDER : FileNode.MAY_CREATE_FILE);
        checkActive(folder);
        inner.enter(outer);
        if (!inner.find(data, FileNode.TAG_ID) || inner.length() != 2) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        folder.checkFree(Util.getShort(data, inner.value()));
        inner.enter(outer);
        FileNode made = FileNode.make(inner, data);
        JCSystem.beginTransaction();
        folder.add(made);
        JCSystem.commitTransaction();
        if (made.isFolder()) {
            current[FOLDER] = made;
            current[FILE] = null;
        } else {
            current[FILE] = made;
        }
        state[RECORD] = 0;
    }

    private void deleteFile(byte[] data, short offset, short length) {
        FileNode file = (FileNode) current[FILE];
        Folder folder = (Folder) current[FOLDER];
        if (length != 0) {
            checkLength(length, (short) 2);
            file = folder.child(Util.getShort(data, offset));
        } else if (file == null) {
            file = folder;
        }
        if (file == null) {
            ISOException.throwIt(ISO7816.SW_FILE_NOT_FOUND);
        }
        if (file == master) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        check(file, FileNode.MAY_DELETE);
        check(file.parent(), FileNode.MAY_DELETE_CHILD);
        if (folder.isWithin(file)) {
            current[FOLDER] = file.parent();
        }
        current[FILE] = null;
        JCSystem.beginTransaction();
        file.parent().remove(file);
        JCSystem.commitTransaction();
        if (JCSystem.isObjectDeletionSupported()) {
            JCSystem.requestObjectDeletion();
        }
    }

    private void activate(boolean active) {
        FileNode file = (FileNode) current[FILE];
        if (file == null) {
            file = (FileNode) current[FOLDER];
        }
        check(file, active ? FileNode.MAY_ACTIVATE : FileNode.MAY_DEACTIVATE);
        file.setActive(active);
    }

    // ---- PINs

    private void verify(byte[] buffer, byte[] data, short offset, short length) {
        byte number = access.number(buffer[ISO7816.OFFSET_P2]);
        if (buffer[ISO7816.OFFSET_P1] == (byte) 0xFF) {
            checkLength(length, (short) 0);
            access.forget(number);
            return;
        }
        if (buffer[ISO7816.OFFSET_P1] != 0) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        if (length == 0) {
            if (!access.isValidated(number)) {
                access.refuse(number);
            }
            return;
        }
        checkLength(length, (short) Access.PIN_BYTES);
        access.verify(number, data, offset);
    }

    private void change(byte[] buffer, byte[] data, short offset, short length) {
        byte number = access.number(buffer[ISO7816.OFFSET_P2]);
        switch (buffer[ISO7816.OFFSET_P1]) {
            case 0x00:
                checkLength(length, (short) (2 * Access.PIN_BYTES));
                access.verify(number, data, offset);
                access.set(number, data, (short) (offset + Access.PIN_BYTES));
                break;
            case 0x01:
                checkLength(length, (short) Access.PIN_BYTES);
                if (number == Access.ISSUER || !access.isValidated(Access.ISSUER)) {
                    ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
                }
                access.set(number, data, offset);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
    }

    private void resetRetry(short parameters, byte[] data, short offset, short length) {
        if (parameters != (short) 0x0081) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        checkLength(length, (short) (2 * Access.PIN_BYTES));
        access.verify(Access.PUK, data, offset);
        access.set(Access.HOLDER, data, (short) (offset + Access.PIN_BYTES));
        access.forget(Access.PUK);
    }

    // ---- keys

    // References to keys are 1 to 4. The stored reference is 0 if no key is set.
    private void setEnvironment(byte[] buffer, byte[] data, short offset, short length) {
        if (buffer[ISO7816.OFFSET_P1] != (byte) 0x41) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        short reference = 0;
        short algorithm = 0;
        outer.begin(offset, length);
        while (outer.next(data)) {
            if (outer.length() != 1) {
                ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
            switch (outer.tag()) {
                case (short) 0x80:
                    algorithm = (short) (data[outer.value()] & 0xFF);
                    break;
                case KeyObject.TAG_REFERENCE:
                    reference = data[outer.value()];
                    break;
                default:
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
            }
        }
        key(reference);
        switch (buffer[ISO7816.OFFSET_P2]) {
            case (byte) 0xB6:
                if (algorithm != (short) 0x02 && algorithm != (short) 0x12 && algorithm != (short) 0x42) {
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                }
                state[SIGN_KEY] = reference;
                state[SIGN_ALGORITHM] = (short) ((algorithm >> 4) & 0x0F);
                state[HASHED] = 0;
                break;
            case (byte) 0xB8:
                state[DECIPHER_KEY] = reference;
                break;
            case (byte) 0xA4:
                state[AUTHENTICATE_KEY] = reference;
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
    }

    private KeyObject key(short reference) {
        if (reference < 1 || reference > KEYS || keys[(short) (reference - 1)] == null) {
            ISOException.throwIt(SW_NOT_THERE);
        }
        return keys[(short) (reference - 1)];
    }

    // Returns the key that was set for this use. Throws if it may not be used now.
    private KeyObject keyFor(byte where, byte usage) {
        short reference = state[where];
        if (reference == 0) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        KeyObject key = key(reference);
        if (!key.isUsable(usage)) {
            ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
        }
        if (!access.isValidated(Access.HOLDER)) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
        return key;
    }

    private void performSecurityOperation(APDU apdu, short parameters, byte[] data, short offset, short length) {
        switch (parameters) {
            case (short) 0x90A0:
                hash(data, offset, length);
                break;
            case (short) 0x9E9A:
                sign(apdu, data, offset, length);
                break;
            case (short) 0x8086:
                decipher(apdu, data, offset, length);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
    }

    private void hash(byte[] data, short offset, short length) {
        outer.begin(offset, length);
        outer.expect(data, (short) 0x80, (short) 1, length);
        sha256.reset();
        sha256.doFinal(data, outer.value(), outer.length(), digest, (short) 0);
        state[HASHED] = 1;
    }

    private void sign(APDU apdu, byte[] data, short offset, short length) {
        KeyObject key = keyFor(SIGN_KEY, KeyObject.SIGNS);
        byte algorithm = (byte) state[SIGN_ALGORITHM];
        if (length == 0) {
            if (state[HASHED] == 0 || algorithm != Pkcs1.SHA256) {
                ISOException.throwIt(ISO7816.SW_CONDITIONS_NOT_SATISFIED);
            }
            data = digest;
            offset = 0;
            length = (short) 32;
        }
        state[HASHED] = 0;
        short bytes = pkcs1.sign(key.secret(), algorithm, data, offset, length, ram, (short) 0);
        if (key.asksEveryTime()) {
            access.forget(Access.HOLDER);
        }
        respond(apdu, bytes);
    }

    private void decipher(APDU apdu, byte[] data, short offset, short length) {
        KeyObject key = keyFor(DECIPHER_KEY, KeyObject.DECIPHERS);
        checkLength(length, CRYPTOGRAM_BYTES);
        if (data[offset] != 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        respond(apdu, pkcs1.decipher(key.secret(), data, (short) (offset + 1), ram, (short) 0));
    }

    private void authenticate(APDU apdu, byte[] data, short offset, short length) {
        KeyObject key = keyFor(AUTHENTICATE_KEY, KeyObject.AUTHENTICATES);
        if (length == 0) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        respond(apdu, pkcs1.sign(key.secret(), Pkcs1.RAW, data, offset, length, ram, (short) 0));
    }

    private void challenge(APDU apdu) {
        short length = apdu.setOutgoing();
        random.generateData(ram, (short) 0, length);
        apdu.setOutgoingLength(length);
        apdu.sendBytesLong(ram, (short) 0, length);
    }

    private void putKey(short parameters, byte[] data, short offset, short length) {
        if (parameters != (short) 0x3FFF) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        if (!access.isValidated(Access.ISSUER)) {
            ISOException.throwIt(ISO7816.SW_SECURITY_STATUS_NOT_SATISFIED);
        }
        outer.begin(offset, length);
        outer.expect(data, (short) 0x70, (short) 1, length);
        outer.enter(outer);
        outer.expect(data, KeyObject.TAG_REFERENCE, (short) 1, (short) 1);
        short index = (short) (data[outer.value()] - 1);
        if (index < 0 || index >= KEYS) {
            ISOException.throwIt(SW_NOT_THERE);
        }
        if (keys[index] == null) {
            keys[index] = new KeyObject();
        }
        keys[index].load(outer, inner, data);
        Util.arrayFillNonAtomic(ram, (short) 0, RAM_BYTES, (byte) 0);
    }

    private void getKey(APDU apdu, short parameters, byte[] data, short offset, short length) {
        if (parameters != (short) 0x3FFF) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        outer.begin(offset, length);
        outer.expect(data, KeyObject.TAG_REFERENCE, (short) 1, (short) 1);
        respond(apdu, key(data[outer.value()]).writePublic(ram, (short) 0));
    }

    private static void checkLength(short length, short wanted) {
        if (length != wanted) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
    }
}

package cards.pki;

import cards.lib.TlvReader;
import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.Util;

/**
 * A file of ISO 7816-4: identifier, parent, life cycle and access rules. Access modes are
 * numbered like the bits of an access mode byte.
 */
abstract class FileNode {
    // Access modes of any file.
    static final byte MAY_DEACTIVATE = 3;
    static final byte MAY_ACTIVATE = 4;
    static final byte MAY_DELETE = 6;
    // Access modes of an elementary file.
    static final byte MAY_READ = 0;
    static final byte MAY_UPDATE = 1;
    static final byte MAY_APPEND = 2;
    // Access modes of a folder.
    static final byte MAY_DELETE_CHILD = 0;
    static final byte MAY_CREATE_FILE = 1;
    static final byte MAY_CREATE_FOLDER = 2;

    static final byte TYPE_TRANSPARENT = (byte) 0x01;
    static final byte TYPE_LINEAR_FIXED = (byte) 0x02;
    static final byte TYPE_LINEAR_VARIABLE = (byte) 0x04;
    static final byte TYPE_CYCLIC = (byte) 0x06;
    static final byte TYPE_FOLDER = (byte) 0x38;

    static final short TAG_SIZE = (short) 0x80;
    static final short TAG_DESCRIPTOR = (short) 0x82;
    static final short TAG_ID = (short) 0x83;
    static final short TAG_NAME = (short) 0x84;
    static final short TAG_SHORT_ID = (short) 0x88;
    static final short TAG_LIFE = (short) 0x8A;
    static final short TAG_ACCESS = (short) 0x8C;

    static final short TEMPLATE_FCP = (short) 0x62;
    static final short TEMPLATE_FCI = (short) 0x6F;

    /** Access conditions: always, never; others have the number of a PIN in the low nibble. */
    static final byte ALWAYS = (byte) 0x00;
    static final byte NEVER = (byte) 0xFF;

    private static final byte MODES = 7;
    private static final byte ACTIVE = (byte) 0x05;
    private static final byte DEACTIVATED = (byte) 0x04;

    private final byte type;
    private final short id;
    private final byte shortId;
    private final byte[] access;
    private Folder parent;
    private byte life;

    FileNode(byte type, short id, byte shortId) {
        this.type = type;
        this.id = id;
        this.shortId = shortId;
        access = new byte[MODES];
        life = ACTIVE;
    }

    /**
     * Sets the access rules, given in compact form: the access mode byte, followed by a condition
     * for each set bit, the highest first.
     */
    final void setAccess(byte[] data, short offset, short length) {
        if (length < 1) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        byte modes = data[offset];
        short at = (short) (offset + 1);
        short end = (short) (offset + length);
        for (byte mode = (byte) (MODES - 1); mode >= 0; mode--) {
            if ((short) ((modes >> mode) & 1) != 0) {
                if (at >= end) {
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                }
                access[mode] = data[at++];
            }
        }
        if (at != end) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }

    final byte access(byte mode) {
        return access[mode];
    }

    final byte type() {
        return type;
    }

    final short id() {
        return id;
    }

    final boolean hasShortId(byte wanted) {
        return wanted != 0 && shortId == wanted;
    }

    final Folder parent() {
        return parent;
    }

    final void setParent(Folder folder) {
        parent = folder;
    }

    final boolean isFolder() {
        return type == TYPE_FOLDER;
    }

    final boolean isActive() {
        return life == ACTIVE;
    }

    final void setActive(boolean active) {
        life = active ? ACTIVE : DEACTIVATED;
    }

    /** Writes the control parameters in a template, and returns the offset behind it. */
    final short describe(byte[] out, short offset, short template) {
        short at = TlvWriter.tag(out, offset, template);
        short lengthAt = at++;
        at = describe(out, at);
        at = TlvWriter.objectShort(out, at, TAG_ID, id);
        if (shortId != 0) {
            at = TlvWriter.objectByte(out, at, TAG_SHORT_ID, (byte) (shortId << 3));
        }
        at = TlvWriter.objectByte(out, at, TAG_LIFE, life);
        at = TlvWriter.head(out, at, TAG_ACCESS, (short) (MODES + 1));
        out[at++] = (byte) 0x7F;
        for (byte mode = (byte) (MODES - 1); mode >= 0; mode--) {
            out[at++] = access[mode];
        }
        return TlvWriter.close(out, lengthAt, at);
    }

    /** Writes the parameters that only this type has, and returns the offset behind them. */
    abstract short describe(byte[] out, short at);

    /** Makes a file from the control parameters that the reader is about to read. */
    static FileNode make(TlvReader tlv, byte[] data) {
        byte type = 0;
        short recordBytes = 0;
        short records = 0;
        short id = 0;
        short size = 0;
        byte shortId = 0;
        short nameAt = 0;
        short nameLength = 0;
        short accessAt = 0;
        short accessLength = 0;
        while (tlv.next(data)) {
            short value = tlv.value();
            short length = tlv.length();
            switch (tlv.tag()) {
                case TAG_DESCRIPTOR:
                    if (length != 1 && length != 5) {
                        ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                    }
                    type = data[value];
                    if (length == 5) {
                        recordBytes = Util.getShort(data, (short) (value + 2));
                        records = (short) (data[(short) (value + 4)] & 0xFF);
                    }
                    break;
                case TAG_ID:
                    id = shortValue(data, value, length);
                    break;
                case TAG_SIZE:
                    size = shortValue(data, value, length);
                    break;
                case TAG_SHORT_ID:
                    if (length != 1) {
                        ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                    }
                    shortId = (byte) ((data[value] >> 3) & 0x1F);
                    break;
                case TAG_NAME:
                    if (length > Folder.NAME_BYTES) {
                        ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                    }
                    nameAt = value;
                    nameLength = length;
                    break;
                case TAG_ACCESS:
                    accessAt = value;
                    accessLength = length;
                    break;
                default:
                    break;
            }
        }
        if (id == 0 || id == (short) 0x3FFF || id == (short) 0xFFFF) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        FileNode made = null;
        switch (type) {
            case TYPE_FOLDER:
                made = new Folder(id, data, nameAt, nameLength);
                break;
            case TYPE_TRANSPARENT:
                if (size <= 0) {
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                }
                made = new TransparentFile(id, shortId, size);
                break;
            case TYPE_LINEAR_FIXED:
            case TYPE_LINEAR_VARIABLE:
            case TYPE_CYCLIC:
                if (recordBytes <= 0 || recordBytes > (short) 0xFF || records <= 0) {
                    ISOException.throwIt(ISO7816.SW_WRONG_DATA);
                }
                made = new RecordFile(type, id, shortId, recordBytes, records);
                break;
            default:
                ISOException.throwIt(ISO7816.SW_FUNC_NOT_SUPPORTED);
        }
        if (accessLength != 0) {
            made.setAccess(data, accessAt, accessLength);
        }
        return made;
    }

    private static short shortValue(byte[] data, short value, short length) {
        if (length != 2) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        return Util.getShort(data, value);
    }
}

package cards.pki;

import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.Util;

/** A dedicated file: up to twelve files, and perhaps a name. */
final class Folder extends FileNode {
    static final short NAME_BYTES = 16;
    private static final byte CAPACITY = 12;

    private final FileNode[] children;
    private byte count;
    private final byte[] name;

    Folder(short id, byte[] data, short nameAt, short nameLength) {
        super(TYPE_FOLDER, id, (byte) 0);
        children = new FileNode[CAPACITY];
        name = new byte[nameLength];
        Util.arrayCopy(data, nameAt, name, (short) 0, nameLength);
    }

    /** 6A89 if this identifier is taken, 6A84 if there is no room for one more. */
    void checkFree(short id) {
        if (child(id) != null) {
            ISOException.throwIt(PkiApplet.SW_FILE_EXISTS);
        }
        if (count == CAPACITY) {
            ISOException.throwIt(ISO7816.SW_FILE_FULL);
        }
    }

    /** Puts a file in, for which there is room. */
    void add(FileNode file) {
        children[count] = file;
        count++;
        file.setParent(this);
    }

    /** Takes a file out. */
    void remove(FileNode file) {
        for (byte i = 0; i < count; i++) {
            if (children[i] == file) {
                count--;
                children[i] = children[count];
                children[count] = null;
                return;
            }
        }
    }

    /** The file with this identifier, or null. */
    FileNode child(short id) {
        for (byte i = 0; i < count; i++) {
            if (children[i].id() == id) {
                return children[i];
            }
        }
        return null;
    }

    /** The elementary file with this short identifier, or null. */
    FileNode childByShortId(byte shortId) {
        for (byte i = 0; i < count; i++) {
            if (children[i].hasShortId(shortId)) {
                return children[i];
            }
        }
        return null;
    }

    /** The folder whose name begins with these bytes, this one or one below it, or null. */
    Folder named(byte[] data, short offset, short length) {
        if (length > 0 && length <= (short) name.length
                && Util.arrayCompare(name, (short) 0, data, offset, length) == 0) {
            return this;
        }
        for (byte i = 0; i < count; i++) {
            if (children[i].isFolder()) {
                Folder found = ((Folder) children[i]).named(data, offset, length);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }

    /** Whether it is this folder or one that this lies in. */
    boolean isWithin(FileNode above) {
        for (FileNode at = this; at != null; at = at.parent()) {
            if (at == above) {
                return true;
            }
        }
        return false;
    }

    @Override
    short describe(byte[] out, short at) {
        at = TlvWriter.objectByte(out, at, TAG_DESCRIPTOR, TYPE_FOLDER);
        if (name.length > 0) {
            at = TlvWriter.object(out, at, TAG_NAME, name, (short) 0, (short) name.length);
        }
        return at;
    }
}

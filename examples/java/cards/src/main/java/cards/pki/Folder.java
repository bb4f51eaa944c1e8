package cards.pki;

import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.Util;

/** A dedicated file: a folder of up to twelve files, with an optional name. */
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

    /** Throws 6A89 if a file has this identifier, and 6A84 if the folder is full. */
    void checkFree(short id) {
        if (child(id) != null) {
            ISOException.throwIt(PkiApplet.SW_FILE_EXISTS);
        }
        if (count == CAPACITY) {
            ISOException.throwIt(ISO7816.SW_FILE_FULL);
        }
    }

    /** Adds a file. The caller has checked that the folder is not full. */
    void add(FileNode file) {
        children[count] = file;
        count++;
        file.setParent(this);
    }

    /** Removes a file. */
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

    /** Returns the file with this identifier, or null. */
    FileNode child(short id) {
        for (byte i = 0; i < count; i++) {
            if (children[i].id() == id) {
                return children[i];
            }
        }
        return null;
    }

    /** Returns the elementary file with this short identifier, or null. */
    FileNode childByShortId(byte shortId) {
        for (byte i = 0; i < count; i++) {
            if (children[i].hasShortId(shortId)) {
                return children[i];
            }
        }
        return null;
    }

    /** Returns the folder, this one or one below it, whose name begins so, or null. */
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

    /** Returns true if {@code above} is this folder or one of its ancestors. */
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

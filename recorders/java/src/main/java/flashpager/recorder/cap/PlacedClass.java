package flashpager.recorder.cap;

/** The place of a class file in the image. */
public final class PlacedClass {
    /** Name of the class, with slashes. */
    public final String name;

    /** Path of the CAP file. */
    public final String file;

    /** The reason why no method has a place, in one line; null if methods may have places. */
    public final String reason;

    /** The methods with code, in the class file's order; none if there is a reason. */
    public final PlacedMethod[] methods;

    PlacedClass(String name, String file, String reason, PlacedMethod[] methods) {
        this.name = name;
        this.file = file;
        this.reason = reason;
        this.methods = methods;
    }

    /** Returns the method of this name and descriptor, or null. */
    public PlacedMethod method(String name, String descriptor) {
        for (PlacedMethod method : methods) {
            if (method.name.equals(name) && method.descriptor.equals(descriptor)) {
                return method;
            }
        }
        return null;
    }
}

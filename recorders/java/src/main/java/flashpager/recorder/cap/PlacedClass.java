package flashpager.recorder.cap;

/** A class file's place in the image. */
public final class PlacedClass {
    /** As in the class file, with slashes. */
    public final String name;

    /** The CAP file. */
    public final String file;

    /** One line: why no method has a place; null if some may. */
    public final String reason;

    /** The methods that have code in the class file, in its order; none if there is a reason. */
    public final PlacedMethod[] methods;

    PlacedClass(String name, String file, String reason, PlacedMethod[] methods) {
        this.name = name;
        this.file = file;
        this.reason = reason;
        this.methods = methods;
    }

    /** The method of this name and descriptor, or null. */
    public PlacedMethod method(String name, String descriptor) {
        for (PlacedMethod method : methods) {
            if (method.name.equals(name) && method.descriptor.equals(descriptor)) {
                return method;
            }
        }
        return null;
    }
}

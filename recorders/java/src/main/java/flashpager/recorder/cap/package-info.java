/**
 * Where the blocks of class files lie in Java Card's CAP files, whose Method components are the
 * image then. It knows nothing of recording, and needs nothing but the JDK.
 */
package flashpager.recorder.cap;

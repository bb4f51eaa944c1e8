/**
 * Maps blocks of class files to Java Card's CAP files, whose Method components form the image.
 * It is independent of recording, and needs only the JDK.
 */
package flashpager.recorder.cap;

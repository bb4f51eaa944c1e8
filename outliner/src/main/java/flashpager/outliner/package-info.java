/**
 * Moves cold parts of Java methods into methods of their own, so that a layout can separate them
 * from hot code. Works on class files, with a profile of the executed code.
 */
package flashpager.outliner;

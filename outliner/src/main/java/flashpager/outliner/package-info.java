/**
 * Moves cold parts of Java methods into methods of their own, so that a layout can put them apart
 * from what is hot. Works on class files, with a profile of what was executed.
 */
package flashpager.outliner;

# Renames sections of compiled objects before they are linked. 'cmake -P' runs it, for
# flashpager_time_critical of flashpagerConfig.cmake.
#
# OBJCOPY is the tool, OBJECTS a file with the path of an object on each line, LIST a file that 'pin
# --format pico-sdk' wrote, and APPLIED the list that was applied before.
file(STRINGS "${OBJECTS}" objects)
file(READ "${LIST}" wanted)
# Sources put functions into .time_critical.NAME, too. A prefix distinguishes those that are renamed
# here, so that no others are renamed back. The SDK's linker scripts match .time_critical*.
string(REPLACE "=.time_critical." "=.time_critical.flashpager." wanted "${wanted}")
file(WRITE "${APPLIED}.next" "${wanted}")
set(undo)
if(EXISTS "${APPLIED}")
    file(READ "${APPLIED}" applied)
    if(NOT applied STREQUAL wanted)
        # Objects that were not compiled since have the sections of the earlier list.
        string(REGEX REPLACE "--rename-section ([^ =\n]+)=([^ \n]+)" "--rename-section \\2=\\1"
            reversed "${applied}")
        file(WRITE "${APPLIED}.undo" "${reversed}")
        set(undo "@${APPLIED}.undo")
    endif()
endif()
foreach(object IN LISTS objects)
    foreach(renames IN ITEMS ${undo} "@${APPLIED}.next")
        # Ninja would compile an object anew that got a new time.
        execute_process(COMMAND "${OBJCOPY}" -p "${renames}" "${object}" RESULT_VARIABLE status)
        if(status)
            message(FATAL_ERROR "flashpager_time_critical: ${OBJCOPY} failed for ${object}")
        endif()
    endforeach()
endforeach()
file(RENAME "${APPLIED}.next" "${APPLIED}")

# Sets FOLDER to the folder of TARGET's files. A generator of several configurations, as Ninja
# Multi-Config, has one for each, and is_multi_config is true.
macro(_flashpager_folder folder target)
    get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    set(${folder} "${CMAKE_BINARY_DIR}/flashpager/${target}")
    if(is_multi_config)
        string(APPEND ${folder} "/$<CONFIG>")
    endif()
endmacro()

# flashpager_tune(TARGET [CONFIGURATION FILE] [FRAGMENTS FOLDER])
#
# Links TARGET with the fragments that 'flashpager tune' writes, and adds the target TARGET-tune, which
# tunes it. The linker script has 'INCLUDE order.ld' in .text, before *(.text .text.*), and 'INCLUDE
# pinned.ld' at the head of .data, which stands before .text.
#
# FRAGMENTS is the folder of order.ld and pinned.ld, which belong to the sources: by default the
# current source folder. CONFIGURATION has the tables [run], [design], [choose] and [verify] of
# flashpager.toml, by default that file in the current source folder. [build] is added to a copy in the
# folder flashpager/TARGET of the build, from which its paths count; with several configurations it is
# flashpager/TARGET/CONFIGURATION.
function(flashpager_tune target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CONFIGURATION;FRAGMENTS" "")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "flashpager_tune: unknown argument '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    if(NOT arg_CONFIGURATION)
        set(arg_CONFIGURATION flashpager.toml)
    endif()
    if(NOT arg_FRAGMENTS)
        set(arg_FRAGMENTS .)
    endif()
    get_filename_component(configuration "${arg_CONFIGURATION}" ABSOLUTE)
    get_filename_component(fragments "${arg_FRAGMENTS}" ABSOLUTE)
    if(NOT EXISTS "${configuration}")
        message(FATAL_ERROR "flashpager_tune: there is no ${configuration}; 'flashpager tune --init' "
            "writes one, of which the table [build] is left out here")
    endif()
    find_program(FLASHPAGER_COMMAND flashpager REQUIRED)
    # The configuration has these paths in quotes of TOML, and one of them in those of the shell.
    get_target_property(output ${target} RUNTIME_OUTPUT_DIRECTORY)
    foreach(path IN ITEMS "${CMAKE_BINARY_DIR}" "${CMAKE_COMMAND}" "${fragments}" "${output}")
        if(path MATCHES "['\"\\]")
            message(FATAL_ERROR "flashpager_tune: ${path} has a quote or a backslash in its name; "
                "rename the folder")
        endif()
    endforeach()

    set(files "${fragments}/order.ld" "${fragments}/pinned.ld")
    foreach(file IN LISTS files)
        if(NOT EXISTS "${file}")
            file(WRITE "${file}" "")
        endif()
    endforeach()
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${files})
    target_link_options(${target} PRIVATE
        "-L${fragments}" "-Wl,-Map=$<TARGET_FILE:${target}>.map")

    # Each target has a folder of its own, in which tune keeps its recordings.
    _flashpager_folder(folder ${target})
    set(config "")
    if(is_multi_config)
        set(config " --config $<CONFIG>")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${configuration}")
    file(READ "${configuration}" tables)
    file(GENERATE OUTPUT "${folder}/flashpager.toml" CONTENT
"[build]
command = \"env -u MAKEFLAGS -u MAKELEVEL '${CMAKE_COMMAND}' --build '${CMAKE_BINARY_DIR}' --target ${target}${config}\"
elf = \"$<TARGET_FILE:${target}>\"
map = \"$<TARGET_FILE:${target}>.map\"
order = \"${fragments}/order.ld\"
pinned = \"${fragments}/pinned.ld\"

${tables}")
    add_custom_target(${target}-tune
        COMMAND "${FLASHPAGER_COMMAND}" tune "${folder}/flashpager.toml"
        USES_TERMINAL VERBATIM)
endfunction()

# flashpager_time_critical(TARGET FILE)
#
# Links the functions of FILE into RAM, in a program of the Pico SDK. 'flashpager pin --map … --format
# pico-sdk -o FILE' writes it. The sections of these functions get names that the SDK's linker scripts
# put into RAM, as __not_in_flash_func gives them in sources. FILE belongs to the sources; while it is
# missing, nothing is renamed. The map of the link is beside the program, with .map behind its name.
# Functions of libraries that TARGET links, as those of the compiler, stay in flash: only objects that
# TARGET compiles are changed.
function(flashpager_time_critical target file)
    get_filename_component(list "${file}" ABSOLUTE)
    if(NOT EXISTS "${list}")
        file(WRITE "${list}" "")
    endif()
    if(NOT CMAKE_OBJCOPY)
        message(FATAL_ERROR "flashpager_time_critical: CMAKE_OBJCOPY is not set; it names the "
            "objcopy of the compiler")
    endif()
    _flashpager_folder(folder ${target})
    file(GENERATE OUTPUT "${folder}/objects.txt" CONTENT "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>\n")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${list}")
    target_link_options(${target} PRIVATE "-Wl,-Map=$<TARGET_FILE:${target}>.map")
    add_custom_command(TARGET ${target} PRE_LINK
        COMMAND "${CMAKE_COMMAND}" -D "OBJCOPY=${CMAKE_OBJCOPY}" -D "LIST=${list}"
            -D "OBJECTS=${folder}/objects.txt" -D "APPLIED=${folder}/applied"
            -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/flashpagerTimeCritical.cmake"
        VERBATIM)
endfunction()

// A room with a little of everything that a ray can meet: the more kinds of
// objects, patterns and lights, the more of the program runs for each pixel.
#version 3.7;
global_settings { assumed_gamma 1 max_trace_level 4 }

camera { location <0, 2.4, -7> look_at <0, 1, 0> angle 48 }
light_source { <-4, 6, -5> rgb 0.7 area_light x, y, 2, 2 }
light_source { <5, 7, -2> rgb <0.6, 0.55, 0.4> spotlight point_at 0 radius 25 falloff 40 }
light_source { <0, 4, -8> rgb 0.25 shadowless }
sky_sphere { pigment { gradient y color_map { [0 rgb 0.9] [1 rgb <0.1, 0.2, 0.6>] } } }
fog { distance 60 rgb 0.6 }

#declare Brass = finish { diffuse 0.5 specular 0.6 metallic reflection { 0.25 metallic } }
#declare Dull = finish { diffuse 0.7 phong 0.3 phong_size 20 }

// Floor and wall.
plane {
    y, 0
    pigment { checker pigment { granite scale 0.6 }, pigment { rgb <0.2, 0.15, 0.1> } }
    finish { Dull reflection 0.15 }
}
plane {
    z, 5
    pigment { brick rgb 0.8, rgb <0.6, 0.25, 0.2> scale 0.12 }
    normal { bumps 0.2 scale 0.1 }
}

// A wooden cube with round corners and holes.
difference {
    intersection { box { -0.6, 0.6 } sphere { 0, 0.82 } }
    cylinder { -z, z, 0.25 }
    cylinder { -y, y, 0.25 }
    sphere { <-0.6, 0.3, 0.3>, 0.2 }
    pigment { wood turbulence 0.1 scale 0.2 }
    finish { Dull }
    rotate <20, 35, 0>
    translate <-1.9, 0.8, -0.6>
}

// A ball of glass.
sphere {
    <0.3, 0.7, -1.6>, 0.7
    pigment { rgbt <0.9, 1, 0.95, 0.85> }
    finish { specular 0.8 reflection { 0.05, 0.6 fresnel } conserve_energy }
    interior { ior 1.5 fade_distance 2 fade_power 1 }
}

// Surfaces of higher degree.
torus {
    0.6, 0.2
    rotate x * 60
    translate <1.9, 0.8, -0.4>
    pigment { rgb <0.9, 0.7, 0.3> }
    finish { Brass }
}
superellipsoid {
    <0.4, 0.3>
    scale 0.4
    translate <1.1, 0.4, 1.2>
    pigment { marble turbulence 0.6 }
    finish { Dull }
}
blob {
    threshold 0.6
    sphere { 0, 0.8, 1 }
    sphere { <0.6, 0.3, 0>, 0.7, 1 }
    cylinder { <-0.2, 0, 0>, <-0.6, 0.9, 0>, 0.5, 1 }
    translate <-0.7, 0.8, 1.4>
    pigment { agate turbulence 0.4 scale 0.5 }
    normal { wrinkles 0.4 scale 0.2 }
    finish { Dull }
}
isosurface {
    function { x * x + y * y + z * z - 0.5 + 0.12 * sin(9 * x) * sin(9 * y) * sin(9 * z) }
    contained_by { sphere { 0, 1 } }
    max_gradient 4
    translate <3, 0.9, 1.6>
    pigment { bozo scale 0.3 }
    finish { Dull }
}

// Turned, extruded, bent and faceted shapes.
lathe {
    cubic_spline 6, <0.1, -0.2>, <0.45, 0>, <0.2, 0.5>, <0.35, 1>, <0.15, 1.4>, <0, 1.5>
    translate <-3, 0, 1.2>
    pigment { leopard scale 0.08 }
    finish { Brass }
}
prism {
    0, 0.3, 6, <0, 0.5>, <0.45, 0.1>, <0.25, -0.45>, <-0.3, -0.4>, <-0.5, 0.1>, <0, 0.5>
    translate <2.4, 0, -1.8>
    pigment { onion scale 0.1 }
    finish { Dull }
}
cone {
    <-0.9, 0, -2.2>, 0.35, <-0.9, 0.8, -2.2>, 0
    pigment { gradient y scale 0.2 }
    normal { ripples 0.3 scale 0.1 }
    finish { Dull }
}
bicubic_patch {
    type 1 flatness 0.05 u_steps 3 v_steps 3
    <0, 0, 0>, <1, 0.5, 0>, <2, 0, 0>, <3, 0.4, 0>,
    <0, 0.3, 1>, <1, 0, 1>, <2, 0.6, 1>, <3, 0, 1>,
    <0, 0, 2>, <1, 0.7, 2>, <2, 0, 2>, <3, 0.3, 2>,
    <0, 0.4, 3>, <1, 0, 3>, <2, 0.5, 3>, <3, 0, 3>
    scale <0.9, 0.6, 0.5>
    rotate x * -60
    translate <-1.4, 2, 3>
    pigment { radial frequency 8 translate x + y }
    finish { Dull }
}
mesh {
    triangle { <0, 0.9, 0>, <0.4, 0, 0>, <0, 0, 0.4> }
    triangle { <0, 0.9, 0>, <0, 0, 0.4>, <-0.4, 0, 0> }
    triangle { <0, 0.9, 0>, <-0.4, 0, 0>, <0, 0, -0.4> }
    triangle { <0, 0.9, 0>, <0, 0, -0.4>, <0.4, 0, 0> }
    translate <2.8, 0, -0.8>
    pigment { rgb <0.3, 0.4, 0.9> }
    finish { Brass }
}

// A ring of beads.
#declare Bead = sphere { 1.1 * x, 0.14 }
#declare I = 0;
#while (I < 360)
    object { Bead rotate y * I translate <0, 0.14, -1.4> pigment { rgb x } finish { Brass } }
    object { Bead rotate y * (I + 30) translate <0, 0.14, -1.4> pigment { spotted scale 0.05 } }
    object {
        Bead
        rotate y * (I + 60)
        translate <0, 0.14, -1.4>
        pigment { crackle scale 0.06 }
        normal { dents 0.5 scale 0.05 }
    }
    #declare I = I + 90;
#end

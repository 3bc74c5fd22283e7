"""Label a block model in PyVista, by the accessor ``.geodomain``.

geodomain is a plug-in of PyVista 0.48 and later. Once it is installed, grids and surfaces have an
accessor ``.geodomain``, and ``pyvista.read`` reads the formats of mining packages.
"""

# %%
# Read the wireframes
# ~~~~~~~~~~~~~~~~~~~
# ``geodomain demo demo`` writes the same deposit from a shell. Here its solids are written to a
# drawing (.dxf), and ``pyvista.read`` returns the layers of the drawing by their names.
import pyvista as pv

import geodomain

deposit = geodomain.synthetic.deposit()
names = ("ore_upper", "ore_lower", "dyke")
geodomain.write_mesh({name: deposit.solids[name] for name in names}, "solids.dxf", overwrite=True)
solids = pv.read("solids.dxf")
print(solids.keys())

# %%
# Check them
# ~~~~~~~~~~
# A solid must be closed. ``weld`` and ``fill_holes`` can close an open one.
for name in solids.keys():  # noqa: SIM118
    print(name, solids[name].geodomain.check().closed, solids[name].geodomain.volume_report())

# %%
# Label a grid
# ~~~~~~~~~~~~
# Each cell gets the name of the solid that contains its centre, exactly. The dyke cuts the ore. As
# PyVista's filters do, ``label`` returns a copy; ``inplace=True`` changes the grid itself.
grid = pv.ImageData(dimensions=(51, 41, 51), spacing=(10, 10, 5), origin=(414_000, 7_480_000, 150))
domains = {"DYKE": solids["dyke"], "ORE": [solids["ore_upper"], solids["ore_lower"]]}
blocks = grid.geodomain.label(domains, background="WASTE")

# %%
# Add up tonnes
# ~~~~~~~~~~~~~
# Tonnes of labels count whole cells. Shares of cells measure the volume inside the wireframes more
# exactly.
print(blocks.geodomain.tonnes(density=2.7))
blocks = blocks.geodomain.proportions(domains)

# %%
# Split the cells at the walls
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
fine = grid.geodomain.subblock(
    domains, scheme="octree", minimum=(2.5, 2.5, 1.25), background="WASTE", merge=True
)
print(f"{grid.n_cells:,} cells, {fine.n_cells:,} sub-blocks")

# %%
# Draw them
# ~~~~~~~~~
plotter = pv.Plotter(off_screen=True, window_size=(900, 560))
colours = {"ORE": "orange", "DYKE": "steelblue"}
north = fine.extract_cells((fine.cell_centers().points[:, 1] > 7_480_200).nonzero()[0])
for name, colour in colours.items():
    part = north.extract_cells((north.cell_data["domain"] == name).nonzero()[0])
    plotter.add_mesh(part, color=colour, show_edges=True, edge_opacity=0.2, label=name)
for solid in solids:
    plotter.add_mesh(solid, color="grey", opacity=0.12)
plotter.add_legend(bcolor="white", size=(0.13, 0.11))
plotter.camera_position = "xz"
plotter.camera.azimuth, plotter.camera.elevation = -25, 25
plotter.camera.zoom(1.6)
plotter.screenshot("pyvista.png")
plotter.close()

# %%
# The shares of the ore add up to the volume of its wireframes. They include the part that the dyke
# cuts off; with ``proportions="priority"``, they do not.
ore = sum(solids[name].geodomain.volume_report().volume for name in names[:2])
volume = blocks.cell_data["prop_ore"].sum() * 10 * 10 * 5
assert blocks.n_cells == grid.n_cells and "domain" not in grid.cell_data
assert abs(volume - ore) < 1e-6 * ore

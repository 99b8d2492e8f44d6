"""Tests to harnesses: source for CUDA, OpenCL and the host, checked cubins, and the parameters of a launch.

From a test to a launch:

    Test ──shape_of──▶ Shape ──plan_launch──▶ LaunchPlan ──launch_bytes──▶ the struct Launch
      └──render_test──▶ RenderedTest ──module_source──▶ source for a compiler
      └──build──▶ BuiltTest: a cubin that optcheck checked, in the cache or in the folder of `gpudiy build`

The words of the harness (instance group, position, test function, round, …) are explained, with a drawing, in
harness_templates/README.md.
"""

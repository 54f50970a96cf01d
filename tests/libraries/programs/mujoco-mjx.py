"""Step a body of rigid parts."""

import jax
import mujoco
from mujoco import mjx

XML = """
<mujoco><worldbody><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></worldbody></mujoco>
"""


def program():
    model = mjx.put_model(mujoco.MjModel.from_xml_string(XML))
    data = mjx.make_data(model)
    step = jax.jit(mjx.step)
    for _ in range(3):
        data = step(model, data)
    return {"position": data.qpos, "speed": data.qvel}

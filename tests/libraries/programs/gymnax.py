"""Step a reinforcement-learning environment under jit, vmap and scan."""

import gymnax
import jax


def program():
    env, params = gymnax.make("CartPole-v1")

    def rollout(key):
        obs, state = env.reset(key, params)

        def step(carry, key):
            obs, state = carry
            action = (obs[2] > 0).astype("int32")
            obs, state, reward, *_ = env.step(key, state, action, params)
            return (obs, state), reward

        (obs, _), rewards = jax.lax.scan(step, (obs, state), jax.random.split(key, 20))
        return obs, rewards.sum()

    obs, total = jax.jit(jax.vmap(rollout))(jax.random.split(jax.random.key(0), 3))
    return {"observation": obs, "total": total}

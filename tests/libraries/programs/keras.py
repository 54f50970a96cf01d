"""Compile and fit a sequential model with the jax backend."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


def program():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((6, 6, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.MeanSquaredError())
    x = np.linspace(-1, 1, 144, dtype="float32").reshape(4, 6, 6, 1)
    history = model.fit(x, np.ones((4, 2), "float32"), epochs=3, batch_size=2, verbose=0)
    return {"loss": history.history["loss"], "output": model.predict(x, verbose=0)}

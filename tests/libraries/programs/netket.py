"""Find the ground state of a spin chain by variational Monte Carlo."""

import netket as nk


def program():
    graph = nk.graph.Chain(4)
    space = nk.hilbert.Spin(0.5, N=4)
    hamiltonian = nk.operator.IsingJax(space, graph, h=1.0)
    state = nk.vqs.FullSumState(space, nk.models.RBM(alpha=1, param_dtype=float), seed=0)
    driver = nk.driver.VMC(
        hamiltonian,
        nk.optimizer.Sgd(0.05),
        variational_state=state,
    )
    driver.run(5, show_progress=False)
    return {"energy": state.expect(hamiltonian).mean.real}

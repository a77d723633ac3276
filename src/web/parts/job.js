// One piece of work at a time: a new one ends the one before, and an error becomes a notice.
import { ApiError, isAbort } from "../api.js";

export class Job {
  // `busy` is told true and false; `failed` is called for an error, when what is shown is no longer true.
  constructor({ notice, busy = () => {}, failed = () => {} }) {
    Object.assign(this, { notice, busy, failed, controller: null });
  }

  // True if it came to its end, false if it was stopped or failed.
  async run(work) {
    this.stop();
    const controller = new AbortController();
    this.controller = controller;
    this.notice.clear();
    this.busy(true);
    try {
      await work(controller.signal);
      return true;
    } catch (error) {
      if (!isAbort(error) && !controller.signal.aborted) {
        this.failed();
        this.notice.show(error);
        if (!(error instanceof ApiError)) console.error(error); // a fault of ours
      }
      return false;
    } finally {
      if (this.controller === controller) {
        this.controller = null;
        this.busy(false);
      }
    }
  }

  stop() {
    this.controller?.abort();
  }
}

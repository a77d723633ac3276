// Asks again and again while a page is shown: after each answer, not by the clock, so that a slow
// server is not asked twice at once.
export class Poll {
  // look() asks once; it gives false if there is nothing more to ask for.
  constructor({ every, look }) {
    Object.assign(this, { every, look, isOn: false, timer: 0, round: 0 });
  }

  start() {
    this.isOn = true;
    return this.now();
  }

  stop() {
    this.isOn = false;
    clearTimeout(this.timer);
  }

  // Asks at once; what was asked before no longer counts.
  async now() {
    clearTimeout(this.timer);
    const round = ++this.round;
    const goesOn = await this.look();
    if (round !== this.round || !this.isOn || goesOn === false) return;
    this.timer = setTimeout(() => this.now(), this.every);
  }
}

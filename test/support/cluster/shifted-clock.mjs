/** Preloaded, it shifts the clock of a process by `CLOCK_MS`. */
const { now } = Date;
const shift = Number(process.env.CLOCK_MS);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [now() + shift] : parts));
  }

  static now() {
    return now() + shift;
  }
};

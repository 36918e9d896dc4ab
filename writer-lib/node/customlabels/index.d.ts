/** Labels of asynchronous work, which a profiler outside of the process reads (docs/node.md). */

/** A number is published in decimal. A key has up to 128 bytes of UTF-8, a value up to 256. */
export type LabelValue = string | number | bigint | boolean;
export type LabelValues = { readonly [key: string]: LabelValue };

/** Labels that are used many times: making them once costs less. */
export class Labels {
  constructor(labels: LabelValues);
  /** Calls `callback` under these labels, on top of those that are there. */
  run<P extends unknown[], R>(callback: (...parameters: P) => R, ...parameters: P): R;
}

/** Calls `callback` under these labels, on top of those that are there. What the callback starts
 * has them, too: promises, timers, streams. Returns what the callback returns. */
export function runWithLabels<P extends unknown[], R>(
  labels: Labels | LabelValues, callback: (...parameters: P) => R, ...parameters: P): R;

/** Returns the labels under which the caller runs. */
export function currentLabels(): { [key: string]: string };

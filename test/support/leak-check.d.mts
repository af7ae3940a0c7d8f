export declare class LeakCheck {
  start(): Promise<void>;
  stop(): void;
  leaksAfter(milliseconds: number): Promise<string[]>;
  endChildren(): void;
}

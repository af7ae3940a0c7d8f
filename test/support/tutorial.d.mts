export function followTutorial(options: {
  folder: string;
  install(names: string[]): Promise<void>;
  port: number;
  env: NodeJS.ProcessEnv;
  document?: string;
}): Promise<string[]>;

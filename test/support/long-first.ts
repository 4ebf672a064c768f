import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of few lines that take long. Without figures of an earlier run vitest begins with the largest files. */
const LONG =
  /\/test\/(rigs\/surviving|e2e\/(bulk-actions|dev|encryption|fuzz|several-hosts|outage|pausing|recovering|tunnels|hostile-calls|limits|metrics|retention)|browser\/(every-screen|system)|simulation\/(model|even-seeds|odd-seeds)|weight\/weight)\.test\.ts$/;

/** Begins with what takes long, so that no worker is left alone with it in the end. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Files of a project stay together: they share processes.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}

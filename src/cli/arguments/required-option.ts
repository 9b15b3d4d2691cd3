import { type Command, Option } from "commander";

/**
 * Adds an option without which the command ends. `requiredOption` of commander would come before its check of unknown options, and so
 * report a misspelt flag as a missing one, without the nearest name.
 */
export function addRequiredOption(command: Command, flags: string, description: string): Command {
  const option = new Option(flags, description);
  return command.addOption(option).hook("preAction", () => {
    if (command.getOptionValue(option.attributeName()) !== undefined) return;
    command.error(`error: required option '${flags}' not specified`, {
      code: "commander.missingMandatoryOptionValue",
    });
  });
}

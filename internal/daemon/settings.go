package daemon

import (
	enumspb "go.temporal.io/api/enums/v1"

	"deerflow/api"
	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
)

// searchAttributes are those that the thread workflow sets.
func searchAttributes() map[string]enumspb.IndexedValueType {
	keyword, number := enumspb.INDEXED_VALUE_TYPE_KEYWORD, enumspb.INDEXED_VALUE_TYPE_INT
	return map[string]enumspb.IndexedValueType{
		"DeerflowStatus": keyword, "DeerflowTitle": keyword, "DeerflowAgent": keyword,
		"DeerflowUser": keyword, "DeerflowModel": keyword, "DeerflowTokens": number,
	}
}

// threadSettings are those of new workflows. Setting search attributes that the
// namespace does not have would hold a workflow up.
func threadSettings(c *config.Config, attributes bool) step.ThreadSettings {
	return step.ThreadSettings{
		ContinueEvents: c.Thread.ContinueAsNewEvents, ContinueBytes: c.Thread.ContinueAsNewBytes,
		IdleTimeout: c.Thread.IdleTimeout, SearchAttributes: attributes,
	}
}

// threadSettings gives those of the configuration in force.
func (d *Daemon) threadSettings(attributes bool) func() step.ThreadSettings {
	return func() step.ThreadSettings { return threadSettings(d.source.Current(), attributes) }
}

// apiSettings gives what requests go by.
func (d *Daemon) apiSettings() api.Settings {
	c := d.source.Current()
	return api.Settings{
		Models: modelNames(c), DefaultModel: c.Models[0].Name,
		Uploads: api.UploadLimits{
			MaxFiles: c.Uploads.MaxFiles, MaxFileSize: c.Uploads.MaxFileSize, MaxTotalSize: c.Uploads.MaxTotalSize,
		},
		ExportFonts:      c.Export.PDFFonts,
		ConvertDocuments: c.Uploads.AutoConvertDocuments,
	}
}

func modelNames(c *config.Config) []string {
	names := make([]string, 0, len(c.Models))
	for _, m := range c.Models {
		names = append(names, m.Name)
	}
	return names
}

func mounts(c *config.Config) []sandbox.Mount {
	list := make([]sandbox.Mount, 0, len(c.Sandbox.Mounts))
	for _, m := range c.Sandbox.Mounts {
		list = append(list, sandbox.Mount{Host: m.HostPath, Virtual: m.ContainerPath, ReadOnly: m.ReadOnly})
	}
	return list
}
